"""A Ray cluster of two nodes on this machine, and what it is compared with."""

import os
import time

import pytest

from tests.inference.archive.workers import study, work
from tests.inference.bundle import tiny
from tests.inference.bundle.tiny import shared_home  # noqa: F401
from unmixnet.inference.bundle import Bundle


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return tiny.bundle()


@pytest.fixture(scope="module")
def nodes(bundle):
    """The address of a cluster of two nodes with one processor each; compiled programs are shared with this process."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'unmixnet[ray]'")
    import ray
    from ray.cluster_utils import Cluster

    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(tiny.programs())
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"
    small = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=small)
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    ray.init(address=cluster.address, log_to_driver=False)
    for module in (study, work):
        # workers have the package and not its tests
        ray.cloudpickle.register_pickle_by_value(module)
    for _ in range(100):
        if ray.cluster_resources().get("CPU") == 2:
            break
        time.sleep(0.1)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()

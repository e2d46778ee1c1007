"""The paper's table of SmellNet: one line for each model; what the paper and others report in lines of their own."""

from studies.tables.markdown import scored, table

__all__ = ["overview_part"]

_COLUMNS = (
    "Base Acc@1",
    "seen MAE",
    "seen acc@0.1",
    "seen cosine",
    "unseen MAE",
    "unseen acc@0.1",
    "unseen cosine",
    "OOD drop",
)
_MODELS = (
    "chance",
    "mean",
    "1-NN",
    "extra-trees",
    "extra-trees (unmixnet's statistics)",
    "mlp",
    "cnn-lstm",
    "itransformer",
    "scentformer",
    "adr-gnn",
    "ldac",
    "unmixnet, steady state",
    "unmixnet",
    "unmixnet (committee)",
)
_REPORTED = """
paper: MLP                               | .273 ± .019 | .121 ± .004 | .202 ± .003 | | .153 ± .004 | .100 ± .029 | | .28
paper: 1DCNN-LSTM                        | .343 ± .097 | .137 ± .006 | .240 ± .008 | | .153 ± .004 | .110 ± .018 | | .12
paper: iTransformerLite                  | .553 ± .066 | .113 ± .006 | .330 ± .002 | | .133 ± .003 | .180 ± .012 | | .18
paper: ScentFormerStyle                  | .578 ± .028 | .123 ± .002 | .430 ± .002 | | .148 ± .004 | .160 ± .008 | | .20
paper: ADR-GNN                           | .510 ± .046 | .124 ± .005 | .380 ± .004 | | .143 ± .004 | .190 ± .012 | | .15
paper: UnMixNet                          | .633 ± .025 | .088 ± .001 | .635 ± .010 | | .101 ± .002 | .390 ± .007 | | .15
SmellNet: LSTM                           | .580        | .040        | .465        | | .115        | .119        | |
SmellNet: ScentFormer                    | .562        | .040        | .503        | | .111        | .160        | |
SmellNet: ScentFormer with GC-MS spectra | .633        |             |             | |             |             | |
LDAC-Net                                 | .682 ± .016 | .050 ± .001 | .505 ± .020 | |             |             | |
"""
"""What others report: table `exp1_smellnet` of the paper, arXiv 2506.00239, arXiv 2608.25646."""


def overview_part(record: dict, split: str) -> list[str]:
    """The table for `official` or `clean`, per window; per recording where a model has no windows."""
    found = {(r["protocol"], r["model"], r["metric"], r["level"]): r for r in record["rows"]}

    def row(protocol: str, model: str, metric: str) -> dict | None:
        return found.get((protocol, model, metric, "window")) or found.get((protocol, model, metric, "recording"))

    lines = []
    seen, unseen = (f"smellnet-mixture:{split}:{part}" for part in ("seen", "unseen"))
    for model in _MODELS:
        near, far = row(seen, model, "MAE"), row(unseen, model, "MAE")
        cells = [
            row("smellnet-base:official", model, "Acc@1"),
            *(row(place, model, metric) for place in (seen, unseen) for metric in ("MAE", "acc@0.1", "cosine")),
        ]
        lines.append([model, *map(scored, cells), f"{far['mean'] / near['mean'] - 1:.2f}" if near and far else ""])
    reported = [[cell.strip() for cell in line.split("|")] for line in _REPORTED.strip().splitlines()]
    return table(["model", *_COLUMNS], [*lines, *(reported if split == "official" else [])])

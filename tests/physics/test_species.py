"""Gases by name and by formula, with the diffusion volumes that Fuller published."""

import pytest

from unmixnet.physics.species import SPECIES, species

PUBLISHED = {
    **{"H2": 6.12, "He": 2.67, "Ne": 5.98, "N2": 18.5, "O2": 16.3, "Ar": 16.2, "Kr": 24.5, "Xe": 32.7, "CO": 18.0},
    **{"CO2": 26.9, "N2O": 35.9, "NH3": 20.7, "H2O": 13.1, "SF6": 71.3, "Cl2": 38.4, "SO2": 41.8, "CH4": 25.14},
}
MASSES = {"H2": 2.016, "CH4": 16.043, "N2": 28.014, "Ar": 39.95, "CO2": 44.009, "Xe": 131.29, "SF6": 146.05}


@pytest.mark.parametrize("formula", PUBLISHED)
def test_a_formula_brings_the_published_diffusion_volume(formula):
    assert species(formula).diffusion_volume == pytest.approx(PUBLISHED[formula])


@pytest.mark.parametrize("formula", MASSES)
def test_the_molar_mass_follows_from_the_formula(formula):
    assert species(formula).molar_mass_g_mol == pytest.approx(MASSES[formula], rel=1e-4)


@pytest.mark.parametrize("name", SPECIES)
def test_every_name_and_every_unambiguous_formula_lead_to_the_same_species(name):
    row = species(name)
    shared = [other for other in SPECIES.values() if other.formula == row.formula]
    if row.formula and len(shared) == 1:
        assert species(row.formula) is row


def test_a_formula_of_several_species_is_refused_with_their_names():
    with pytest.raises(KeyError, match="limonene or myrcene"):
        species("C10H16")


@pytest.mark.parametrize(("wrong", "meant"), [("h2", "H2"), ("Co2", "CO2"), ("Hydrogen", "hydrogen")])
def test_case_matters_and_the_nearest_spelling_is_offered(wrong, meant):
    with pytest.raises(KeyError, match=f"did you mean '{meant}'"):
        species(wrong)


def test_no_formula_is_not_a_formula():
    with pytest.raises(KeyError, match="unknown species ''"):
        species("")

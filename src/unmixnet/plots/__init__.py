"""Figures. They read results and know no equations."""

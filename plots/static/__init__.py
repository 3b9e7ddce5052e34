# SPDX-License-Identifier: Apache-2.0
"""The parts of figures.py: one file per view, and what they share."""

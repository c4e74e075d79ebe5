"""From qrels to fine-tuned models.

``training_examples`` (one row per positive of the training groups, used or not, with the reason) -> hand-over files with
texts -> ``models/<model>`` (a folder: ``result.json`` and ``kept/``) -> ``trained_models`` and ``learning_curves``.

Decisions:

* Examples are built once for all models, and balanced by keyed order, so that a new positive moves few others.
* The best step is the argmax of balanced nDCG@10 over all evaluated steps, the base (step 0) included: where training
  gains nothing, the base is kept and the step says so. Of equal values the earliest wins.
* Another recipe, other base weights or other data never resume: they start a run folder of their own, named by both
  hashes. A checkpoint whose marker contradicts its folder is refused (``CheckpointMismatch``).
* ``examples`` and ``negatives`` are pure. ``loss`` and ``trainer`` import torch and are imported by ``fit`` alone, once
  there is work to do; ``child`` is the process around it.
"""

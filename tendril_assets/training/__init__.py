"""From qrels to fine-tuned models.

``training_examples`` (one row per positive of the training groups, used or not, with the reason) -> hand-over files with
texts -> ``models/<model>`` (a folder: ``result.json`` and ``kept/``) -> ``trained_models`` and ``learning_curves``.

Decisions:

* Examples are built once for all models, and balanced by keyed order, so that a new positive moves few others. A text
  judged relevant for a query is never its negative, and equal positives of a query and group are one example (``pools``).
* The best step is the argmax of balanced nDCG@10 over all evaluated steps, the base (step 0) included: where training
  gains nothing, the base is kept and the step says so. Of equal values the earliest wins.
* Another recipe, other base weights or other data never resume: they start a run folder of their own, named by both
  hashes. A checkpoint whose marker contradicts its folder is refused (``CheckpointMismatch``).
* A checkpoint is whole, every file as its marker lists it, or it is not used: a run that finds one damaged says so and
  goes on from the former (``whole``, ``checkpoints``). One process trains in a model's folder at a time (``alone``).
* An optimiser step holds the same rows and gives the mean gradient over them, whatever the batch and the number of
  processes (``sampling``). Rows come in one seeded shuffle per epoch and are not grouped by length: their order is part
  of the recipe.
* Gradients are clipped at the library's norm of 1. The published recipe says nothing of clipping and was trained with
  the library's trainer, which clips.
* ``examples``, ``pools`` and ``negatives`` are pure. ``loss`` and ``trainer`` import torch and are imported by ``fit``
  alone, once there is work to do; ``child`` is the process around it.
"""

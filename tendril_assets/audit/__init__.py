"""Looking for a text or an id in everything a data folder holds: the proof that what was removed is gone.

``needles`` says in which forms something is looked for, ``matching`` finds them in bytes and in values, ``opening``,
``values`` and ``fsst`` open each kind of file, ``places`` and ``searching`` go through the folders, ``known`` tells what the
tables know of an id, ``by_id`` puts both together.
"""

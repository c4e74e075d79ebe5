"""The sample collections and the stand-in gateway: development tools that the engine knows nothing of.

``build`` writes the landing folders, the same bytes every time: invented projects, people and numbers in texts written
for this project. ``gateway`` serves OpenRouter's chat-completions protocol on the loopback interface with a
deterministic judge (``stand_in_judge``) that is better than chance and worse than perfect.
"""

# Collections that the sample has a landing folder of.
COLLECTIONS = ("tenders", "regulations")

"""The training process: ``python -m tendril_assets.training.child job.json``.

Started by the model's asset through Dagster Pipes, or by hand, on this machine or another that has the job's files. It
dies with its parent, so a stopped run leaves no process on the GPU; the next start resumes from the last checkpoint.
"""

import sys
import time
from pathlib import Path

from dagster_pipes import PipesContext, PipesEnvVarParamsLoader, open_dagster_pipes

from tendril_assets.children import die_with_parent
from tendril_assets.errors import TendrilError
from tendril_assets.training.fit import fit
from tendril_assets.training.job import TrainingJob


def main(arguments: list[str]) -> int:
    """Exit status 0 after a result is in place, 1 after an error of this product, 2 for a wrong call."""
    if len(arguments) not in (1, 2):
        sys.stderr.write("usage: python -m tendril_assets.training.child JOB.json [PARENT]\n")
        return 2
    die_with_parent(int(arguments[1]) if len(arguments) == 2 else None)
    path = Path(arguments[0])
    if not PipesEnvVarParamsLoader().is_dagster_pipes_process():
        try:
            fit(TrainingJob.read(path), lambda event: _to_stderr(str(event)))
        except TendrilError as error:
            _to_stderr(f"{type(error).__name__}: {error}")
            return 1
        return 0
    with open_dagster_pipes() as pipes:
        _fit_with_pipes(path, pipes)
    return 0


def _fit_with_pipes(path: Path, pipes: PipesContext) -> None:
    result = fit(TrainingJob.read(path), lambda event: pipes.log.info(str(event)))
    pipes.report_asset_materialization(
        data_version=result["weights_sha256"],
        metadata={
            name: result[name]
            for name in (
                "best_step",
                "best_value",
                "base_value",
                "steps",
                "examples",
                "truncated_inputs",
                "max_length",
                "seconds",
                "config_hash",
                "data_hash",
            )
        },
    )


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

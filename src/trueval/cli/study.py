"""`trueval study`: a user study from its file to the tables of its answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from trueval.cli import study_analysis
from trueval.cli.guard import guarded
from trueval.cli.options import CsvSafe, Quiet, Seed, check_places
from trueval.errors import DataError, DefinitionError, suggest
from trueval.report.output_formats import check_csv_safe, check_folder_name

if TYPE_CHECKING:
    from trueval.study.definition import Study

app = typer.Typer(help="User studies: plan, make, check, serve, export and analyse one.", no_args_is_help=True)

StudyFile = Annotated[str, Argument(help="A study file (TOML); trueval study new writes one.")]
Database = Annotated[
    str | None, Option(help="postgresql://USER@HOST/NAME, or sqlite:///FILE. Default: an SQLite file beside the study.")
]
Folder = Annotated[Path, Option("--output", "-o", help="Output folder; it must be new, empty or of an earlier run.")]


def new_command(
    output: Folder,
    form: Annotated[str, Option(help="rank, pair or rate.")] = "rank",
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write a commented study file and a small example that runs: invented films with titles and pictures.

    Examples:

      trueval study new -o my-study

      trueval study new -o my-study --form pair
    """
    from trueval.progress import note, set_quiet
    from trueval.report.folder import check_folder, write_together
    from trueval.study.example_study import STUDY_FILE, example_files
    from trueval.study.plan import FORMS

    set_quiet(quiet)
    if form not in FORMS:
        raise DefinitionError(f"unknown form {form!r}", where="--form", do=suggest(form, FORMS))
    check_folder_name(output)
    check_folder(output, [STUDY_FILE, "log.csv", "items.csv"], marker="example.json")
    write_together(output, example_files(form, seed=seed), marker="example.json", manifest={"form": form, "seed": seed})
    note(f"wrote {output}; try it: trueval study serve {output / STUDY_FILE}")


def check_command(study: StudyFile, quiet: Quiet = False) -> None:
    """Say now what would fail later: reads the data, fits all systems, makes lists; and what so many people can show.

    Example:

      trueval study check my-study/study.toml
    """
    from trueval.progress import set_quiet
    from trueval.study.readiness import check_study

    set_quiet(quiet)
    sys.stdout.write("\n".join(check_study(_read(study))) + "\n")


def serve_command(
    study: StudyFile,
    host: Annotated[str, Option(help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen at.", min=1, max=65535)] = 8000,
    database: Database = None,
    workers: Annotated[int, Option(help="Processes; each fits the systems itself.", min=1, max=64)] = 1,
    proxy: Annotated[
        list[str] | None,
        Option(
            help="IP address or network of a web server in front, whose X-Forwarded-For is believed; several times."
        ),
    ] = None,
    new_secret: Annotated[
        bool, Option("--new-secret", help="Make and print a new secret of the results page.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Serve a study until interrupted. The secret of the results page is printed once, when the database is made.

    People's addresses need HTTPS: put a web server such as Caddy or nginx before it, see the guide, and name it with
    --proxy: otherwise everybody seems to come from its address, from which few can begin within an hour (per_address).

    Examples:

      trueval study serve my-study/study.toml

      trueval study serve my-study/study.toml --proxy 127.0.0.1

      trueval study serve my-study/study.toml --database postgresql://study@db/study --workers 4
    """
    _need_server()
    from trueval.progress import note, set_quiet
    from trueval.study.address_limit import networks
    from trueval.study.database import ended_by_signal
    from trueval.study.serving import check_address, serve, serve_by_several
    from trueval.study.site import Site
    from trueval.study.storage import Storage

    set_quiet(quiet)
    read = _read(study)
    check_address(host, port)
    proxies = [str(one) for one in networks(proxy or [])]
    with ended_by_signal():
        site = Site.open(read, database, told=note) if workers == 1 else None
        with Storage.open(read, database) if site is None else site.storage as storage:
            secret = storage.results_secret(anew=new_secret)
        place = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        sys.stdout.write(f"{read.about.title}: {place}/\nresults: {place}/results\n")
        if secret is not None:
            sys.stdout.write(f"secret of the results page (printed once, kept only as a hash): {secret}\n")
        sys.stdout.flush()
        if site is None:
            serve_by_several(
                str(Path(study).resolve()), database, host=host, port=port, workers=workers, proxies=proxies
            )
        else:
            serve(site, host=host, port=port, proxies=proxies)


def export_command(
    study: StudyFile,
    output: Folder,
    format: Annotated[str, Option(help="parquet or csv.")] = "parquet",
    database: Database = None,
    csv_safe: CsvSafe = False,
    quiet: Quiet = False,
) -> None:
    """Write the answers as tables, with a data dictionary. Here, and only here, systems have their names.

    Example:

      trueval study export my-study/study.toml -o answers
    """
    _need_server()
    from trueval.progress import note, set_quiet
    from trueval.study.export_files import write_export

    set_quiet(quiet)
    if format not in ("parquet", "csv"):
        raise DefinitionError(f"unknown format {format!r}", where="--format", do="parquet or csv")
    check_csv_safe(csv_safe, [format])
    check_folder_name(output)
    rows = write_export(_read(study), output, format=format, url=database, safe=csv_safe)
    note(f"wrote {output}: " + ", ".join(f"{number:,} {name}" for name, number in rows.items()))


def backup_command(
    study: StudyFile,
    output: Annotated[Path, Option("--output", "-o", help="The copy: an SQLite file.")],
    database: Database = None,
    quiet: Quiet = False,
) -> None:
    """Copy the answers into one SQLite file, complete also while the study is served; a copy there is replaced.

    Example:

      trueval study backup my-study/study.toml -o backup.sqlite
    """
    _need_server()
    from trueval.progress import note, set_quiet
    from trueval.study.backup import back_up

    set_quiet(quiet)
    people = back_up(_read(study), output, url=database)
    note(f"wrote {output}: {people:,} participant{'s' * (people != 1)}")


def invite_command(
    study: StudyFile,
    output: Annotated[Path, Option("--output", "-o", help="CSV file: user, address.")],
    address: Annotated[str, Option(help="Where people will find the study: https://study.example.org")],
    users: Annotated[
        Path | None, Option(help="A file with one user id on each line. Default: all users with a list in every run.")
    ] = None,
    database: Database = None,
    quiet: Quiet = False,
) -> None:
    """Make an address for each known user, for studies with run files; keep the table safe: only it has both.

    Example:

      trueval study invite my-study/study.toml --address https://study.example.org -o invitations.csv
    """
    _need_server()
    from trueval.data.writing import write_whole
    from trueval.progress import set_quiet
    from trueval.study.catalogue import read_catalogue
    from trueval.study.database import ended_by_signal
    from trueval.study.invitations import invite
    from trueval.study.lists import fit_systems
    from trueval.study.storage import Storage

    set_quiet(quiet)
    check_places(output)  # before people are enrolled whose addresses could not be written
    read = _read(study)
    maker = fit_systems(read, read_catalogue(read))
    if not maker.runs:
        raise DefinitionError(
            "this study has no run files: everybody can take part", where=read.written.at("systems"),
            do="give people the address of the study",
        )  # fmt: skip
    chosen = maker.known_users if users is None else [line for line in _lines(users) if line]
    with ended_by_signal(), Storage.open(read, database) as storage:
        write_whole(output, invite(storage, chosen, maker.known_users, address=address).write_csv())


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError("the file of users cannot be read", where=str(path), found=str(problem)) from None


def _read(study: str) -> Study:
    from trueval.study.definition import read_study

    return read_study(study)


def _need_server() -> None:
    """Refuse without the packages of the server, and say how to install them."""
    import importlib.util

    missing = [
        name for name in ("jinja2", "sqlalchemy", "starlette", "uvicorn") if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise DefinitionError(
            "the server of user studies is not installed", found=f"no {', no '.join(missing)}",
            do="pip install 'trueval[study]'",
        )  # fmt: skip


app.command("new")(guarded(new_command, folder=lambda output: True))
app.command("check")(check_command)
app.command("serve")(serve_command)
app.command("export")(guarded(export_command, folder=lambda output: True))
app.command("backup")(guarded(backup_command))
app.command("invite")(guarded(invite_command))
study_analysis.register(app)

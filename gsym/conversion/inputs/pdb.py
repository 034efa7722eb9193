"""Convert a PDB, by itself or for the image that it belongs to."""

from __future__ import annotations

from gsym.containers.pdb_file import PdbFile
from gsym.conversion.identity import pdb_identity
from gsym.conversion.output import ConversionOutput, ConversionRequest
from gsym.conversion.unit_job import UnitJob, thread_count
from gsym.engine.native import lib
from gsym.errors import EmptyError, UnsupportedError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.conversion.report import ConversionReport
    from gsym.modules.key import ModuleKey


def convert(request: ConversionRequest) -> ConversionReport:
    """Carry *request* out; `gsym.convert` lists what it raises.

    A PDB does not contain the base address of its image: addresses count from there.
    """
    pdb = PdbFile(request.source.data, request.input)
    request.check_architecture(pdb.architecture)
    return convert_pdb(request, pdb, base_address=0, module=pdb_identity(pdb))


def convert_pdb(
    request: ConversionRequest,
    pdb: PdbFile,
    *,
    base_address: int,
    module: ModuleKey,
    companions: tuple[str, ...] = (),
) -> ConversionReport:
    """Write the functions of *pdb*."""
    output = ConversionOutput(request, big_endian=False, base_address=base_address)
    output.set_uuid(pdb.guid)
    threads = thread_count(request, len(pdb.data))
    job = UnitJob(request, output, pdb.path, threads)
    job.create(big_endian=False)
    job.add_path_map()
    job.call(lib.gsym_conversion_set_pdb, pdb.handle, base_address)
    job.read_units()
    if request.options.merged_functions:
        output.merge_functions()
    if not request.options.no_symbols:
        job.call(lib.gsym_conversion_add_pdb_publics)
    sources = None
    if request.options.embedded_sources:
        from gsym.conversion.embedded_sources import sources_of_pdb

        sources = sources_of_pdb(pdb)
    try:
        return output.write(
            architecture=pdb.architecture,
            build_id=pdb.guid,
            module=module,
            companions=companions,
            warnings=job.warnings(),
            details=job.details(),
            sources=sources,
        )
    except EmptyError:
        counts = lib.gsym_conversion_warning_counts(job.handle)
        if not counts[lib.GSYM_WARN_PDB_MANAGED]:
            raise
        reason = "a PDB of .NET code alone, which has no addresses of its own"
        raise UnsupportedError(reason, path=pdb.path) from None

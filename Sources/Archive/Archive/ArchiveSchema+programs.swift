extension ArchiveSchema {
  /// The view of the programs that machines run, such as cleaning.
  static let programs = """
    CREATE VIEW juice.program AS
      SELECT kiosk, epoch, seq, at, machine, more->>'program' AS program, status, source, reason, job, changes
      FROM juice.event
      WHERE status IN ('program_due', 'program_requested', 'program_done', 'program_failed')
    """
}

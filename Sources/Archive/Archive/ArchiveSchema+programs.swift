extension ArchiveSchema {
  /// The view of the programs that machines run, such as cleaning.
  static let programViews = """
    CREATE VIEW juice.program AS
      SELECT kiosk, epoch, seq, at, machine, more->>'program' AS program, status, source, reason, job, changes
      FROM juice.event
      WHERE status IN (\(programs)) AND \(counted("event"))
    """
}

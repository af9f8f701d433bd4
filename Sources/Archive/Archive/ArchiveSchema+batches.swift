extension ArchiveSchema {
  /// The views of batches of fruit, and of waste. They cast no value, because a member of an entry
  /// may have any JSON type.
  static let batches = """
    -- The changes of batches: what came in has a date, what was used, expired or taken out is negative.
    CREATE VIEW juice.batch AS
      SELECT kiosk, epoch, seq, at, status, source, item->>'fruit' AS fruit, item->'batch' AS batch,
        item->'amount' AS amount, item->>'expires' AS expires
      FROM juice.event CROSS JOIN LATERAL jsonb_path_query(more, '$.batches[*] ? (@.type() == "object")') item
      WHERE \(counted("event"));

    -- The fruit that people have taken out, and its cost. Fruit that a sensor blocked and a person discards is spoiled.
    CREATE VIEW juice.waste AS
      SELECT kiosk, epoch, seq, at, source, CASE status WHEN 'removed' THEN reason ELSE 'spoiled' END AS reason,
        changes, more->'expired' AS expired, amount AS cost, currency
      FROM juice.event WHERE status IN (\(waste)) AND \(counted("event"))
    """
}

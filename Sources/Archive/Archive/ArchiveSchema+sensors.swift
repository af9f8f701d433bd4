extension ArchiveSchema {
  /// The views of sensors. They cast no value, because a member of an entry may have any JSON type.
  /// `sensor_hour.hour` is the expression of the index `event_sensor_hour`.
  static let sensors = """
    -- The readings of each hour that is over, with the limits then.
    CREATE VIEW juice.sensor_hour AS
      SELECT kiosk, epoch, seq, at, left(more->>'hour', 20) AS hour, more->>'sensor' AS sensor,
        more->>'unit' AS unit, more->'min' AS min, more->'max' AS max, more->'low' AS low, more->'high' AS high,
        more->'outside' AS outside_seconds, more->'measured' AS measured_seconds
      FROM juice.event WHERE status = 'sensor_hour' AND \(counted("event"));

    -- The alarms, blocks and silences of sensors, and what people have decided.
    CREATE VIEW juice.sensor AS
      SELECT kiosk, epoch, seq, at, more->>'sensor' AS sensor, status, source, more->'value' AS value,
        more->>'unit' AS unit, more->'fruits' AS fruits, more->'machines' AS machines, more->>'word' AS word, changes
      FROM juice.event
      WHERE status IN ('sensor_alarm', 'sensor_blocked', 'sensor_silent', 'sensor_gap', 'sensor_ok',
        'sensor_discard', 'sensor_release') AND \(counted("event"))
    """
}

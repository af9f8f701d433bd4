import Foundation
import GRDB
import KioskMessages

// The fourth migration: an entry, what it has moved and what was answered are one row, which refers
// to the texts that many rows share. An order takes a sixth of the room.
extension LedgerSchema {
  static func joinRows(_ database: Database) throws {
    try database.execute(sql: tables)
    try database.execute(sql: entries)
    try cutAnswers(database)
    try database.execute(sql: ending)
  }

  private static let tables = """
    -- Each is written once.
    CREATE TABLE text (
      id INTEGER PRIMARY KEY,
      text TEXT NOT NULL
    ) STRICT;

    -- What the answers of a kind have in common: see AnswerShape.
    CREATE TABLE shape (
      id INTEGER PRIMARY KEY,
      shape BLOB NOT NULL
    ) STRICT;

    CREATE TABLE joined (
      seq INTEGER PRIMARY KEY CHECK (seq > 0),
      at INTEGER NOT NULL,              -- milliseconds since 1970
      source INTEGER REFERENCES text,   -- order/<panel>, restock/<source>; null: the kiosk itself
      request TEXT,                     -- the id that the sender gave
      status TEXT NOT NULL CHECK (status IN
        ('opened', 'ready', 'out_of_stock', 'restocked', 'open', 'closed', 'rejected')),
      juice INTEGER REFERENCES text,
      quantity INTEGER,
      day INTEGER,                      -- of the ticket, since 1970 in the kiosk's time zone
      ticket INTEGER CHECK (ticket > 0),
      reason TEXT,
      moved INTEGER REFERENCES text,    -- a JSON object of fruits and changes of their stock
      missing INTEGER REFERENCES text,  -- a JSON object of fruits and amounts
      topic INTEGER REFERENCES text,    -- of the answer; null if there was none
      correlation BLOB,
      shape INTEGER REFERENCES shape,   -- of the answer
      numbers BLOB,                     -- that the shape lacks; null: it is the answer
      CHECK ((status = 'rejected') = (reason IS NOT NULL)),
      CHECK ((status = 'ready') = (ticket IS NOT NULL)),
      CHECK ((status = 'out_of_stock') = (missing IS NOT NULL)),
      CHECK (status NOT IN ('ready', 'out_of_stock')
        OR (juice IS NOT NULL AND quantity IS NOT NULL AND quantity > 0))
    ) STRICT;
    """

  private static let entries = """
    CREATE TEMPORARY TABLE moved (seq INTEGER PRIMARY KEY, amounts TEXT NOT NULL);
    INSERT INTO moved
    SELECT seq, json_group_object(fruit, amount) FROM
      (SELECT seq, stock.fruit, amount FROM movement JOIN stock ON id = movement.fruit
        ORDER BY seq, stock.fruit)
    GROUP BY seq;

    INSERT INTO text (text)
    SELECT source FROM entry WHERE source IS NOT NULL
    UNION SELECT juice FROM entry WHERE juice IS NOT NULL
    UNION SELECT missing FROM entry WHERE missing IS NOT NULL
    UNION SELECT amounts FROM moved
    UNION SELECT topic FROM answer;
    CREATE UNIQUE INDEX text_text ON text (text);

    INSERT INTO joined
    SELECT entry.seq, entry.at, (SELECT id FROM text WHERE text = entry.source), entry.request,
      status, (SELECT id FROM text WHERE text = juice), quantity, day, ticket, reason,
      (SELECT id FROM text WHERE text = amounts), (SELECT id FROM text WHERE text = missing),
      (SELECT id FROM text WHERE text = topic), correlation, NULL, NULL
    FROM entry LEFT JOIN moved USING (seq) LEFT JOIN answer USING (seq);

    DROP INDEX text_text;
    DROP TABLE moved;
    """

  private static func cutAnswers(_ database: Database) throws {
    var shapes = try Interned(.shape, in: database)
    let update = try Statement(
      "UPDATE joined SET shape = ?, numbers = ? WHERE seq = ?", on: database)
    let answers = try Row.fetchCursor(
      database,
      sql: """
        SELECT joined.seq, joined.request, text AS juice, joined.ticket, answer.payload
        FROM answer JOIN joined USING (seq) LEFT JOIN text ON text.id = juice
        """)
    while let row = try answers.next() {
      let words = AnswerShape.Words(
        id: row["request"], juice: row["juice"], seq: row["seq"], ticket: row["ticket"])
      let shape = AnswerShape(of: Array(row["payload"] as Data), without: words)
      update.bind(1, try shapes.number(of: shape.bytes))
      update.bind(2, shape.numbers)
      update.bind(3, row["seq"] as Int)
      try update.run()
    }
  }

  private static let ending = """
    DROP TABLE answer;
    DROP TABLE movement;
    DROP TABLE entry;
    ALTER TABLE joined RENAME TO entry;

    -- For readers.
    CREATE VIEW event AS
    SELECT seq, at, source.text AS source, request, status, juice.text AS juice, quantity, day,
      ticket, reason, moved.text AS moved, missing.text AS missing, topic.text AS topic, correlation,
      shape.shape, numbers
    FROM entry
      LEFT JOIN text AS source ON source.id = entry.source
      LEFT JOIN text AS juice ON juice.id = entry.juice
      LEFT JOIN text AS moved ON moved.id = entry.moved
      LEFT JOIN text AS missing ON missing.id = entry.missing
      LEFT JOIN text AS topic ON topic.id = entry.topic
      LEFT JOIN shape ON shape.id = entry.shape;

    CREATE VIEW movement AS
    SELECT seq, key AS fruit, value AS amount FROM entry JOIN text ON text.id = moved, json_each(text);
    """
}

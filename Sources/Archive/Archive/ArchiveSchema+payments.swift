extension ArchiveSchema {
  /// The daily sums and the views of payments.
  static let payments = """
    -- The results of a charge on a day, computed from 'event'. Its order is on the day of the request to pay; a
    -- later day may have other steps of the charge.
    CREATE TABLE juice.charge_day (
      day date NOT NULL,
      kiosk text COLLATE "C" NOT NULL,
      charge bigint NOT NULL,
      at timestamptz NOT NULL,
      device text COLLATE "C" NOT NULL,
      currency text COLLATE "C",
      panel text, juice text COLLATE "C", ticket integer, quantity integer,
      asked numeric NOT NULL, sold numeric NOT NULL, held numeric NOT NULL, captured numeric NOT NULL,
      released numeric NOT NULL, refunded numeric NOT NULL,
      receipt text, trace text, terminal text, card text, last4 text,
      PRIMARY KEY (kiosk, day, charge)
    ) WITH (fillfactor = 80);
    CREATE INDEX charge_day_day ON juice.charge_day (day);
    CREATE INDEX charge_day_charge ON juice.charge_day (kiosk, charge);

    -- The ends of the days of payment devices, in the smallest unit of the currency.
    CREATE TABLE juice.total_day (
      day date NOT NULL,
      kiosk text COLLATE "C" NOT NULL,
      epoch bigint NOT NULL,
      seq bigint NOT NULL,
      at timestamptz NOT NULL,
      device text COLLATE "C" NOT NULL,
      currency text,
      captured numeric, refunded numeric, count numeric, difference numeric,
      PRIMARY KEY (kiosk, day, epoch, seq)
    );

    -- One row for each charge. undecided: held, and neither captured nor released.
    CREATE VIEW juice.charges AS
      SELECT kiosk, charge, min(day) AS day, min(at) AS at, max(device) AS device, max(panel) AS panel,
        max(ticket) AS ticket, max(juice) AS juice, max(quantity) AS quantity, max(currency) AS currency,
        sum(asked) AS asked, sum(sold) AS sold, sum(captured) AS captured, sum(released) AS released,
        sum(refunded) AS refunded,
        CASE WHEN sum(captured) = 0 AND sum(released) = 0 THEN sum(held) ELSE 0 END AS undecided,
        max(receipt) AS receipt, max(trace) AS trace, max(terminal) AS terminal, max(card) AS card, max(last4) AS last4
      FROM juice.charge_day WHERE \(counted("charge_day")) GROUP BY kiosk, charge;

    -- The sums of charges, by the day of the order.
    CREATE VIEW juice.payments AS
      SELECT kiosk, day, juice, panel, currency, count(*) AS charges, sum(sold) AS sold, sum(captured) AS captured,
        sum(released) AS released, sum(refunded) AS refunded, sum(undecided) AS undecided
      FROM juice.charges GROUP BY kiosk, day, juice, panel, currency;

    -- Beside each end of a device's day, by how much its total exceeds the ledger of the kiosk.
    CREATE VIEW juice.payment_totals AS
      SELECT kiosk, day, at, device, currency, captured, refunded, count, difference FROM juice.total_day
      WHERE \(counted("total_day"))
    """
}

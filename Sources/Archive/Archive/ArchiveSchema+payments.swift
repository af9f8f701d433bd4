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
      released numeric NOT NULL, refunded numeric NOT NULL, cash numeric NOT NULL, written_off numeric NOT NULL,
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

    -- One row for each charge. held: what is held, and neither captured, released nor written off. taken, given_back,
    -- written_off and open: as the kiosk's MoneySums, sold = taken - given_back + written_off + open.
    CREATE VIEW juice.charges AS
      SELECT kiosk, charge, day, at, device, panel, ticket, juice, quantity, currency, asked, sold, captured, released,
        refunded, cash, captured AS taken, refunded + cash AS given_back,
        CASE WHEN is_open THEN 0 ELSE sold - captured + refunded + cash END AS written_off,
        CASE WHEN is_open THEN sold - captured + refunded + cash ELSE 0 END AS open,
        CASE WHEN is_open THEN held ELSE 0 END AS held, receipt, trace, terminal, card, last4
      FROM (SELECT kiosk, charge, min(day) AS day, min(at) AS at, max(device) AS device, max(panel) AS panel,
        max(ticket) AS ticket, max(juice) AS juice, max(quantity) AS quantity, max(currency) AS currency,
        sum(asked) AS asked, sum(sold) AS sold, sum(captured) AS captured, sum(released) AS released,
        sum(refunded) AS refunded, sum(cash) AS cash, sum(held) AS held,
        sum(held) > 0 AND sum(captured) = 0 AND sum(released) = 0 AND sum(written_off) = 0 AS is_open,
        max(receipt) AS receipt, max(trace) AS trace, max(terminal) AS terminal, max(card) AS card, max(last4) AS last4
      FROM juice.charge_day WHERE \(counted("charge_day")) GROUP BY kiosk, charge) charge;

    -- The sums of charges, by the day of the order.
    CREATE VIEW juice.payments AS
      SELECT kiosk, day, juice, panel, currency, count(*) AS charges, sum(sold) AS sold, sum(taken) AS taken,
        sum(given_back) AS given_back, sum(written_off) AS written_off, sum(open) AS open
      FROM juice.charges GROUP BY kiosk, day, juice, panel, currency;

    -- The sums of all orders. Those without a charge: what was sold on the day less what was sold with a charge.
    CREATE VIEW juice.money AS
      SELECT kiosk, day, currency, sum(sold) AS sold, sum(taken) AS taken, sum(given_back) AS given_back,
        sum(written_off) AS written_off, sum(open) AS open
      FROM (
        SELECT kiosk, day, currency, sold, taken, given_back, written_off, open FROM juice.payments
        UNION ALL SELECT kiosk, day, currency, amount, 0, 0, amount, 0 FROM juice.sold
        UNION ALL SELECT kiosk, day, currency, -sold, 0, 0, -sold, 0 FROM juice.charge_day
          WHERE \(counted("charge_day"))
      ) money
      WHERE currency IS NOT NULL GROUP BY kiosk, day, currency;

    -- Beside each end of a device's day, by how much its total exceeds the ledger of the kiosk.
    CREATE VIEW juice.payment_totals AS
      SELECT kiosk, day, at, device, currency, captured, refunded, count, difference FROM juice.total_day
      WHERE \(counted("total_day"))
    """
}

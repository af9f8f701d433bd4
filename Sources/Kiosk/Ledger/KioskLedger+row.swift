import Foundation
import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol

extension LedgerRow {
  /// Creates a ledger row from a row of the table `entry`.
  ///
  /// - Throws: `LedgerError.unreadable` if the event or the stock cannot be read.
  init(_ row: Row) throws(LedgerError) {
    let seq: Int = row["seq"]
    guard let entry = try? LedgerEntry(event: row.bytes("event"), day: row["day"]),
      entry.seq == seq, let stock = row.amounts("stock")
    else { throw .unreadable(seq) }
    self.init(entry, stock: stock, detail: row["detail"], message: row["message"])
  }
}

extension Money {
  /// Reads the columns `amount` and `currency`. Returns `nil` if one is NULL or cannot be read.
  init?(_ row: Row) {
    guard let units = row["amount"] as Int?,
      let currency = (row["currency"] as String?).flatMap({ Currency($0) })
    else { return nil }
    self.init(units: units, currency)
  }
}

extension Charge {
  /// Creates a charge from a row of the table `charge`.
  ///
  /// - Parameter order: The entry of the charge's order, or `nil` if the charge has no order.
  /// - Throws: `LedgerError.unreadable` if a column is invalid, or if the entry is not that of an
  ///   order that awaits payment.
  init(_ row: Row, order entry: LedgerEntry?) throws(LedgerError) {
    func money(_ units: String, _ currency: String) -> Money? {
      guard let units = row[units] as Int?,
        let currency = (row[currency] as String?).flatMap({ Currency($0) })
      else { return nil }
      return Money(units: units, currency)
    }
    let number: Int = row["number"]
    guard let device = PaymentDeviceID(row["device"] as String),
      let amount = money("amount", "currency"),
      let state = ChargeState(rawValue: row["state"]), let goal = ChargeState(rawValue: row["goal"])
    else { throw .unreadable(entry?.seq ?? number) }
    var sale: Sale?
    if let entry {
      guard case .awaitingPayment(let order, let used, let ticket, _, _) = entry.outcome,
        let source = entry.source
      else { throw .unreadable(entry.seq) }
      let topic: String? = row["topic"]
      let correlation = (row["correlation"] as Data?).map { Array($0) }
      sale = Sale(
        seq: entry.seq, order: order, ticket: ticket, used: used, source: source, id: entry.id,
        reply: topic == nil && correlation == nil
          ? nil : Reply(topic: topic, correlationData: correlation),
        juiceName: row["name"] ?? order.juice.text,
        payLimit: .milliseconds(row["pay_ms"] as Int? ?? 0))
    }
    self.init(
      number: number, device: device, sale: sale, amount: amount,
      at: Timestamp(milliseconds: row["at"]), day: row["day"], state: state, goal: goal,
      held: money("held", "held_currency"), captured: money("captured", "captured_currency"),
      wanted: money("wanted", "currency"), reason: row["reason"])
  }
}

extension Job {
  /// Creates a job from a row of the table `job`, joined with the entry of its order or program.
  ///
  /// - Throws: `LedgerError.unreadable` if the columns contradict each other.
  init(_ row: Row) throws(LedgerError) {
    let entry = try LedgerRow(row).entry
    guard let (work, used) = entry.outcome.work,
      let machine = MachineID(row["maker"] as String),
      let state = (row["state"] as String?).flatMap(JobState.init(rawValue:))
    else { throw .unreadable(entry.seq) }
    let topic: String? = row["topic"]
    let correlation = (row["correlation"] as Data?).map { Array($0) }
    self.init(
      seq: entry.seq, number: row["number"], machine: machine, work: work,
      used: used, amount: entry.amount, source: entry.source, id: entry.id,
      at: Timestamp(milliseconds: row["begun"]),
      state: state,
      reply: topic == nil && correlation == nil
        ? nil : Reply(topic: topic, correlationData: correlation),
      terms: Terms(
        juiceName: row["name"], startLimit: .milliseconds(row["start_ms"] as Int),
        finishLimit: .milliseconds(row["finish_ms"] as Int), returnsFruit: row["returns_fruit"]))
  }
}

extension LedgerEntry.Outcome {
  /// The work of an order that was accepted or awaited payment, or of a requested program; otherwise `nil`.
  fileprivate var work: (Job.Work, used: FruitAmounts)? {
    switch self {
    case .accepted(let order, let used, let ticket, _, _),
      .awaitingPayment(let order, let used, let ticket, _, _):
      (.order(order, ticket), used)
    case .program(let step) where step.kind == .requested:
      (.program(step.id.program), step.changes.times(-1))
    default: nil
    }
  }
}

extension Row {
  /// The bytes of a text that is not NULL.
  func bytes(_ column: String) -> [UInt8] { Array((self[column] as String).utf8) }

  /// Returns the amounts in a column, `.some(nil)` if the column is NULL, or `nil` if the column
  /// cannot be read.
  fileprivate func amounts(_ column: String) -> FruitAmounts?? {
    guard let text = self[column] as String? else { return .some(nil) }
    guard case .object(let members) = try? JSON.parse(Array(text.utf8)) else { return nil }
    var amounts: FruitAmounts = [:]
    for member in members {
      guard let fruit = Fruit.ID(member.key), case .integer(let amount) = member.value else {
        return nil
      }
      amounts[fruit] = amount
    }
    return amounts
  }
}

extension Reply {
  /// Reads the columns of the table `reply`, joined with an entry. Returns `nil` if there is no
  /// reply.
  init?(_ row: Row) {
    guard row["asked"] != nil else { return nil }
    let correlation = row["correlation"] as Data?
    self.init(topic: row["topic"], correlationData: correlation.map { Array($0) })
  }
}

extension Fingerprint {
  /// Creates a fingerprint from a row of the table `delivery`.
  init(_ row: Row) {
    self.init(
      packetID: UInt16(truncatingIfNeeded: row["packet_id"] as Int),
      digest: UInt64(bitPattern: row["digest"]))
  }
}

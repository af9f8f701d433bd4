package import JuiceDomain
package import KioskProtocol

/// A value that the kiosk remembers across restarts: a row of the ledger's table `state`.
///
/// The type describes its members once, and the description writes and reads the row.
package protocol StateValue: FormattedMessage, Hashable {
  associatedtype Key: Hashable & Sendable & LosslessStringConvertible
  static var kind: StateKey.Kind { get }
}

/// The key of a row of the table `state`.
package struct StateKey: Hashable, Sendable {
  package let kind: Kind
  package let text: String

  package enum Kind: String, Sendable {
    case alert, machine, maker, mark
    case paymentDevice = "payment_device"
  }
}

/// A dictionary that remembers which of its values the ledger does not have yet.
///
/// A decision changes the dictionary only, and adds the changes to its transaction at the end.
struct Journaled<Value: StateValue>: Sendable {
  private(set) var values: [Value.Key: Value]
  private var changed: Set<Value.Key> = []

  /// - Parameter values: The values that the ledger has.
  init(_ values: [Value.Key: Value]) { self.values = values }

  subscript(key: Value.Key) -> Value? {
    get { values[key] }
    set {
      guard newValue != values[key] else { return }
      values[key] = newValue
      changed.insert(key)
    }
  }

  /// Adds the changes since the last call to a transaction.
  mutating func save(in transaction: inout LedgerTransaction) {
    guard !changed.isEmpty else { return }
    for key in changed { transaction.set(values[key], for: key) }
    changed = []
  }
}

// MARK: Values

extension StockAlert: MemberValue {}

extension StockAlert: StateValue {
  package typealias Key = Fruit.ID
  package static var kind: StateKey.Kind { .alert }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    self = try members.required("level") { $0 }
  }
}

extension MachineRecord: StateValue {
  package typealias Key = MachineID
  package static var kind: StateKey.Kind { .machine }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    status = try members.required("status", \.status)
    failures = try members.required("failures", \.failures)
  }
}

extension Maker: StateValue {
  package typealias Key = MachineID
  package static var kind: StateKey.Kind { .maker }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    machine = try members.required("machine", \.machine)
    let juices = members.optional("juices") {
      $0.juices?.map(\.text).sorted().joined(separator: " ")
    }
    self.juices = juices.map { Set($0.split(separator: " ").compactMap { Juice.ID(String($0)) }) }
  }
}

/// The last value of a device counter or contact, or the last values of a remote; see `DeviceMarks`.
package struct DeviceMark: StateValue {
  package typealias Key = String
  package static var kind: StateKey.Kind { .mark }

  package let value: String

  package init(_ value: String) { self.value = value }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    value = try members.required("value", \.value)
  }
}

extension PaymentDeviceRecord: StateValue {
  package typealias Key = PaymentDeviceID
  package static var kind: StateKey.Kind { .paymentDevice }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    status = try members.required("status", \.status)
    currency = members.optional("currency", \.currency)
    captured = try members.required("captured", \.captured)
    refunded = try members.required("refunded", \.refunded)
    total = members.optional("total", \.total)
    let totalAt = members.optional("total_at") { $0.totalAt.map { Int($0.milliseconds) } }
    self.totalAt = totalAt.map { Timestamp(milliseconds: Int64($0)) }
    difference = try members.required("difference", \.difference)
    epoch = try members.required("epoch", \.epoch)
  }
}

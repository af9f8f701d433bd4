/// A decoded packet of a terminal, without confidential data.
package enum TerminalMessage: Hashable, Sendable {
  /// `80 00`, and `84 00` of some terminals: the terminal has received the command.
  case acknowledged
  /// `84 xx`: the terminal refuses the command. `84 83`: it does not support the command.
  case refused(UInt8)
  /// `04 0F`: the status information, with `nil` for fields that cannot be read.
  case status(Fields?)
  /// `04 FF`: the intermediate status, such as `0A`: present card.
  case progress(UInt8)
  /// `06 0F`: the completion of a command, with `nil` for fields that cannot be read.
  case completed(Completion?)
  /// `06 1E`: the reason for an abort, and its fields, with `nil` for fields that cannot be read.
  case aborted(UInt8, Fields?)
  /// `06 D1` or `06 D3`: the number of lines to print. This program discards the lines.
  case print(lines: Int)
  /// `04 01`: the terminal sends a date and a time to the register, which ignores them.
  case setClock
  /// `84 9C`: the terminal needs more time.
  case wait
  /// A packet that this program does not support, by its class and instruction.
  case unknown(UInt16)

  /// The data of `06 0F`.
  package struct Completion: Hashable, Sendable {
    package var fields: Fields
    /// The version of the terminal's software; status enquiry only.
    package var version: String?
    /// The state of the terminal; status enquiry only.
    package var state: UInt8?
  }

  /// Decodes a packet.
  ///
  /// - Parameter isEnquiry: Whether the packet answers a status enquiry, whose completion has
  ///   another form.
  package init(_ packet: APDU, isEnquiry: Bool, _ text: TerminalText) {
    let data = packet.data
    switch packet.control {
    case 0x8000, 0x8400: self = .acknowledged
    case 0x849C: self = .wait
    case 0x040F: self = .status(Fields(data, text))
    case 0x04FF: self = .progress(data.first ?? 0xFF)
    case 0x060F:
      self = .completed(
        isEnquiry
          ? Completion(enquiry: data[...], text)
          : Fields(data, text).map { Completion(fields: $0) })
    case 0x061E: self = .aborted(data.first ?? 0, Fields(Array(data.dropFirst()), text))
    case 0x06D1: self = .print(lines: 1)
    case 0x06D3: self = .print(lines: Self.lines(data[...]))
    case 0x0401: self = .setClock
    case 0x8401...0x84FF: self = .refused(UInt8(truncatingIfNeeded: packet.control))
    default: self = .unknown(packet.control)
    }
  }

  /// Returns the number of lines to print: the elements 07 of all elements 25, or 0 if they cannot be read.
  private static func lines(_ data: ArraySlice<UInt8>) -> Int {
    var rest = data
    guard rest.popFirst() == 0x06, let length = TLV.length(&rest) else { return 0 }
    let blocks = TLV.elements(rest.prefix(length)).elements.filter { $0.tag == 0x25 }
    return blocks.reduce(0) { count, block in
      count + TLV.elements(block.value).elements.count { $0.tag == 0x07 }
    }
  }
}

extension TerminalMessage.Completion {
  /// Reads the version (LLLVAR, absent in some terminals), the state, and fields such as a TLV container.
  fileprivate init?(enquiry data: ArraySlice<UInt8>, _ text: TerminalText) {
    var rest = data
    var version: String?
    if rest.count >= 3, rest.prefix(3).allSatisfy({ (0xF0...0xF9).contains($0) }) {
      let length = rest.prefix(3).reduce(0) { $0 * 10 + Int($1 & 0xF) }
      rest = rest.dropFirst(3)
      guard length <= rest.count else { return nil }
      version = text.decode(rest.prefix(length)).unlessCardNumber
      rest = rest.dropFirst(length)
    }
    let state = rest.popFirst()
    guard let fields = Fields(Array(rest), text) else { return nil }
    self.init(fields: fields, version: version, state: state)
  }
}

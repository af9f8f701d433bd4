import JuiceDomain
import KioskProtocol
import ZVT

/// The decoders of a card terminal's device.
enum PaymentFuzz {
  /// Packets are the same however the bytes arrive, every packet has a message, and no text that
  /// leaves the decoder or the device contains a card number.
  static func zvt(_ bytes: [UInt8]) {
    var (whole, halves) = (APDUReader(), APDUReader())
    let packets = whole.read(bytes)
    let half = bytes.count / 2
    let again = halves.read(bytes[..<half]) + halves.read(bytes[half...])
    expect(packets == again, "\(packets) is read in halves as \(again)")
    expect(whole.isInPacket == halves.isInPacket, "a part of a packet is lost")
    for packet in packets {
      var reader = APDUReader()
      expect(reader.read(packet.bytes) == [packet], "\(packet) is read back as another packet")
      for text in TerminalText.allCases {
        for isEnquiry in [true, false] {
          check(TerminalMessage(packet, isEnquiry: isEnquiry, text))
        }
      }
    }
    drive(bytes)
  }

  private static func check(_ message: TerminalMessage) {
    let fields: Fields? =
      switch message {
      case .status(let fields): fields
      case .completed(let completion): completion?.fields
      case .aborted(_, let fields): fields
      default: nil
      }
    guard let fields else { return }
    let texts = [fields.cardName, fields.last4, fields.terminal, fields.date, fields.time]
    for text in texts.compactMap(\.self) {
      expect(!containsCardNumber(text), "\(text) may be a card number")
    }
    expect((fields.clock?.utf8.count ?? 14) == 14, "\(fields.clock ?? "") is no time")
    expect((fields.last4?.utf8.count ?? 4) == 4, "\(fields.last4 ?? "") has not four digits")
    expect((0...999_999_999_999).contains(fields.amount ?? 0), "an amount of 12 digits")
    expect((0...9_999).contains(fields.receipt ?? 0), "a receipt of 4 digits")
  }

  /// Sends the bytes to a device that has a prompt, a hold and a lost capture.
  private static func drive(_ bytes: [UInt8]) {
    for isOpen in [true, false] {
      var journal = ChargeJournal()
      var record = ChargeRecord(request(16), .reservation)
      (record.state, record.held, record.receipt) = (.capturing, 350, 1)
      record.asked = 350
      if isOpen { journal.apply(.charge(record)) }
      var device = PaymentDevice(DeviceSettings(), journal)
      var actions = device.connected(at: .zero)
      // Registered and ready, no open reservation, no last result.
      if !isOpen {
        for answer in Self.beginning { actions += device.received(answer, at: .zero) }
        actions += device.receive(.charge(request(17)), at: .zero)
      }
      let half = bytes.count / 2
      actions += device.received(Array(bytes[..<half]), at: .seconds(1))
      actions += device.received(Array(bytes[half...]), at: .seconds(1))
      actions += device.disconnected(at: .seconds(2))
      for action in actions {
        switch action {
        case .publish(let answer):
          let text = String(decoding: answer.payload, as: UTF8.self)
          expect(!containsCardNumber(text), "\(text) may contain a card number")
        case .log(let text): expect(!containsCardNumber(text), "\(text) may be a card number")
        case .store(let entry):
          let line = entry.line(at: Timestamp(milliseconds: 0))
          expect(ChargeJournal.Entry(line: line) == entry, "\(entry) is not read back")
        case .send, .status, .total, .inventory, .disconnect: break
        }
      }
    }
  }

  private static func request(_ charge: Int) -> ChargeRequest {
    ChargeRequest(
      charge: charge, ticket: 4, panel: "p1", juice: "kiwi", quantity: 1,
      amount: Money(units: 350, .euro), language: .english, text: "Kiwi", paySeconds: 45,
      readySeconds: 0)
  }

  private static let beginning: [[UInt8]] = [
    [0x80, 0, 0], [0x06, 0x0F, 0], [0x80, 0, 0], [0x06, 0x0F, 1, 0], [0x80, 0, 0],
    [0x06, 0x1E, 4, 0xB8, 0x87, 0xFF, 0xFF], [0x80, 0, 0], [0x06, 0x0F, 0],
  ]

  /// Twelve digits in a row.
  private static func containsCardNumber(_ text: String) -> Bool {
    var run = 0
    for byte in text.utf8 {
      run = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? run + 1 : 0
      if run >= 12 { return true }
    }
    return false
  }

  /// A command is within its limits; what is refused is refused in words.
  static func charge(_ bytes: [UInt8]) {
    for action in [nil] + ChargeRequest.Action.allCases {
      do throws(JSONError) {
        let command = try ChargeCommand(action, payload: bytes)
        if case .open(let number) = command {
          expect((1..<(1 << 53)).contains(number), "\(number)")
        }
        expect(command.charge.map((1..<(1 << 53)).contains) ?? true, "charge \(command)")
        guard case .charge(let request) = command else { continue }
        expect((1...999_999_999_999).contains(request.amount.units), "\(request.amount)")
        expect((5...300).contains(request.paySeconds), "\(request.paySeconds) s")
        expect(request.text.unicodeScalars.count <= 64, "a long text")
        let packet = TerminalCommand.display(lines: [request.text], seconds: 2).packet(.cp437)
        expect(packet.data.count <= 29, "\(packet.data.count) bytes for one line")
      } catch {
        expect(!error.problem.isEmpty, "a refusal without words")
      }
    }
  }

  /// A line that is read is the same when it is written and read again.
  static func journal(_ bytes: [UInt8]) {
    guard let entry = ChargeJournal.Entry(line: bytes) else { return }
    let line = entry.line(at: Timestamp(milliseconds: 0))
    expect(!line.contains(0x0A), "two lines")
    expect(ChargeJournal.Entry(line: line) == entry, "\(entry) is not read back")
    var journal = ChargeJournal()
    journal.apply(entry)
    var again = ChargeJournal()
    for entry in journal.shortened { again.apply(entry) }
    expect(again.day == journal.day && again.last == journal.last, "the shortened journal differs")
    expect(again.records == journal.records, "the shortened journal has other records")
  }
}

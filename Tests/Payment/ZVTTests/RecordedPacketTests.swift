import JuiceDomain
import KioskProtocol
import Testing
import ZVT

/// The recorded packets decode to what the tests of their sources say.
@Suite struct RecordedPacketTests {
  private func message(
    _ bytes: [UInt8], isEnquiry: Bool = false, text: TerminalText = .cp437
  ) throws -> TerminalMessage {
    var reader = APDUReader()
    let packets = reader.read(bytes)
    #expect(packets.count == 1 && !reader.isInPacket)
    return TerminalMessage(try #require(packets.first), isEnquiry: isEnquiry, text)
  }

  private func status(_ bytes: [UInt8], text: TerminalText = .cp437) throws -> Fields {
    guard case .status(let fields?) = try message(bytes, text: text) else {
      throw NotAStatus()
    }
    return fields
  }

  private struct NotAStatus: Error {}

  @Test func reservation() throws {
    let fields = try status(Recorded.reserved)
    #expect(fields.resultCode == 0)
    #expect(fields.amount == 2500)
    #expect(fields.currency == 978)
    #expect((fields.date, fields.time) == ("0405", "225558"))
    #expect((fields.receipt, fields.trace) == (231, 975))
    #expect((fields.terminal, fields.cardName, fields.last4) == ("52523535", "MasterCard", "8074"))
  }

  @Test func reservationReversal() throws {
    let fields = try status(Recorded.released)
    #expect((fields.amount, fields.receipt, fields.trace) == (0, 232, 977))
  }

  /// The number of this card is not masked; its last four digits are all that is kept.
  @Test func girocard() throws {
    let fields = try status(Recorded.reservedGirocard)
    #expect((fields.amount, fields.receipt, fields.trace) == (2500, 249, 1012))
    #expect((fields.cardName, fields.last4) == ("girocard", "8004"))
    #expect(!"\(fields)".contains("4711008005757038004"))
    #expect(!"\(fields)".contains("47110080"))
  }

  @Test func cardReads() throws {
    let read = try status(Recorded.cardRead)
    #expect(read.resultCode == 0 && read.amount == nil && read.isWhole)
    let track = try status(Recorded.cardData)
    #expect(track.resultCode == 0)
    #expect(!"\(track)".contains("6725"))
  }

  @Test func endOfDay() throws {
    let fields = try status(Recorded.dayEnded)
    #expect((fields.amount, fields.trace) == (958, 982))
    #expect(fields.totals?.count == 2)
    #expect(fields.totals?.amount == 958)
  }

  @Test func otherStatusInformation() throws {
    #expect(try status(Recorded.cancelled).resultCode == 0x6C)
    #expect(try status(Recorded.wrongAmount).resultCode == 0xFF)
    #expect(try status(Recorded.wrongAmount).terminal == "28004869")
    for (packet, amount, receipt) in [
      (Recorded.paid, 2040, 470), (Recorded.paidToo, 2040, 463), (Recorded.paidByPhone, 100, 607),
    ] {
      let fields = try status(packet, text: .latin1)
      #expect((fields.amount, fields.receipt, fields.trace) == (amount, receipt, receipt))
      #expect(fields.currency == 978)
      #expect((fields.cardName, fields.last4) == ("Debit Mastercard", "4771"))
    }
    let mastercard = try status(Recorded.mastercard)
    #expect((mastercard.receipt, mastercard.trace, mastercard.terminal) == (8, 0, "00000006"))
    #expect(mastercard.cardName == "MASTERCARD")
    let rejected = try status(Recorded.rejected)
    #expect((rejected.resultCode, rejected.terminal) == (0x05, "29000274"))
    let girocard = try status(Recorded.girocard)
    #expect((girocard.amount, girocard.receipt, girocard.last4) == (4000, 175, "6666"))
    for packet in [Recorded.visa, Recorded.visaWithContainer] {
      let fields = try status(packet)
      #expect((fields.cardName, fields.last4, fields.terminal) == ("VISA", "7743", "42003036"))
    }
    #expect(try status(Recorded.visa).amount == 1)
    #expect(try status(Recorded.visaWithContainer).amount == 1000)
  }

  @Test func completions() throws {
    #expect(try message(Recorded.completed) != .completed(nil))
    guard case .completed(let registered?) = try message(Recorded.registered) else {
      Issue.record("no completion")
      return
    }
    #expect(registered.fields.statusByte == 0x10)
    #expect((registered.fields.terminal, registered.fields.currency) == ("52523535", 978))
    guard case .completed(let other?) = try message(Recorded.registeredWithContainer) else {
      Issue.record("no completion")
      return
    }
    #expect((other.fields.statusByte, other.fields.terminal) == (0, "52001233"))
  }

  @Test func statusEnquiries() throws {
    for (packet, terminal) in [
      (Recorded.enquired, "52523535"), (Recorded.enquiredBox, "52500245"),
    ] {
      guard case .completed(let completion?) = try message(packet, isEnquiry: true) else {
        Issue.record("no completion")
        return
      }
      #expect(completion.state == 0)
      #expect(completion.version?.hasPrefix("GER-APP-v2.0.9;c") ?? false)
      #expect(completion.fields.terminal == terminal)
    }
    let clock = try message(Recorded.enquired, isEnquiry: true)
    guard case .completed(let completion?) = clock else { return }
    #expect(completion.fields.clock == "20230405225655")
  }

  /// The state byte may look like the beginning of a container.
  @Test(arguments: [
    ("060f07f0f0f3626c6100", "bla", 0x00), ("060f07f0f0f3626c6106", "bla", 0x06),
    ("060f09f0f0f3626c61060600", "bla", 0x06), ("060f0106", nil, 0x06), ("060f03060600", nil, 0x06),
    ("060f0bf0f0f7322e31342e313500", "2.14.15", 0x00),
  ])
  func oddStatusEnquiries(packet: String, version: String?, state: Int) throws {
    let message = try message(Recorded.hex(packet), isEnquiry: true)
    guard case .completed(let completion?) = message else {
      Issue.record("no completion")
      return
    }
    #expect(completion.version == version)
    #expect(completion.state.map(Int.init) == state)
  }

  @Test func openReservations() throws {
    func receipts(_ hex: String) throws -> Fields {
      // The lengths in some of these packets are too large, so they are no packets of a stream.
      let bytes = Recorded.hex(hex)
      let packet = APDU(0x061E, Array(bytes.dropFirst(3)))
      guard case .aborted(0xB8, let fields?) = TerminalMessage(packet, isEnquiry: false, .cp437)
      else { throw NotAStatus() }
      return fields
    }
    let none = try receipts("061e04b887ffff")
    #expect(none.hasReceipt && none.receipt == nil && none.openReceipts == nil)
    #expect(try receipts("061e04b8870123").receipt == 123)
    let list = try receipts("061e0eb80611230908020123" + "08024567")
    #expect(list.openReceipts == [123, 4567] && !list.isWhole)
    let both = try receipts("061e11b88701230611" + "23090802456708027890")
    #expect(both.receipt == 123 && both.openReceipts == [4567, 7890])
    let whole = try receipts("061e0db8060a2308" + "0802012308024567")
    #expect(whole.openReceipts == [123, 4567] && whole.isWhole)
  }

  @Test func abortWithWords() throws {
    guard case .aborted(0x6C, let fields?) = try message(Recorded.abortedByCommand) else {
      Issue.record("no abort")
      return
    }
    #expect(fields.isWhole)
  }

  @Test func progress() throws {
    #expect(try message(Recorded.progress) == .progress(0x17))
    #expect(try message(Recorded.progressWithText) == .progress(0x0A))
  }

  @Test func printsAreCountedAndDiscarded() throws {
    #expect(try message(Recorded.receipt) == .print(lines: 33))
    #expect(try message(Recorded.configuration) == .print(lines: 118))
    #expect(try message(Recorded.line) == .print(lines: 1))
    for block in Recorded.blocks + [Recorded.visaReceipt] {
      guard case .print(let lines) = try message(block) else {
        Issue.record("no block")
        return
      }
      #expect(lines > 10)
    }
    let cardComplete = Recorded.hex("06d10740" + "06041f070101")
    #expect(try message(cardComplete) == .print(lines: 1))
  }

  // MARK: Commands

  @Test func commandsAsRecorded() {
    func bytes(_ command: TerminalCommand) -> [UInt8] { command.packet(.cp437).bytes }
    #expect(
      bytes(.register(password: 123_456, configuration: 0xDE, currency: 978, hasContainer: false))
        == Recorded.register)
    #expect(bytes(.endOfDay(password: 123_456)) == Recorded.endDay)
    #expect(bytes(.openReservations) == Recorded.hex("06230387ffff"))
    #expect(bytes(.enquireStatus(password: 123_456)) == Recorded.hex("050103123456"))
    #expect(
      bytes(.authorise(amount: 3300, asks: 10)) == Recorded.hex("0601090400000000330002" + "0a"))
  }

  /// The same fields as the recorded commands, which have another order and a reference number.
  @Test func fieldsOfCommandsAsRecorded() throws {
    func fields(_ bytes: [UInt8]) throws -> Fields {
      try #require(Fields(Array(bytes.dropFirst(3)), .cp437))
    }
    func same(_ command: TerminalCommand, _ recorded: [UInt8]) throws {
      let (ours, theirs) = (command.packet(.cp437), recorded)
      #expect(ours.bytes.prefix(2) == theirs.prefix(2))
      let (left, right) = (try fields(ours.bytes), try fields(theirs))
      #expect(left.amount == right.amount && left.receipt == right.receipt)
      #expect(left.currency == right.currency && left.statusByte == right.statusByte)
    }
    try same(.reserve(amount: 2500, currency: 978, paymentType: 0x40), Recorded.reserve)
    try same(
      .releaseReservation(receipt: 231, currency: 978, paymentType: 0x40), Recorded.release)
    try same(
      .reverseInPart(receipt: 491, amount: 1295, currency: 978, paymentType: 0x40),
      Recorded.reverseInPart)
  }

  @Test func goods() {
    #expect(Goods.beingMade.answer.bytes == [0x84, 0x9C, 0])
    #expect(Goods.made.answer.bytes == [0x80, 0, 0])
    #expect(Goods.notMade.answer.bytes == [0x84, 0x66, 0])
    #expect(Goods.madeInPart(amount: 2200).answer.bytes == Recorded.hex("849d0704000000002200"))
  }
}

@Suite struct PacketTests {
  @Test func packetsInHalvesAndSeveralInOne() {
    let packets = [
      APDU(0x040F, [0x27, 0]), APDU(0x06D3, [UInt8](repeating: 7, count: 1121)), APDU(0x8000),
    ]
    let bytes = packets.flatMap(\.bytes)
    #expect(packets[1].bytes.prefix(5) == [0x06, 0xD3, 0xFF, 0x61, 0x04])
    for size in [1, 2, 3, 5, 400, bytes.count] {
      var reader = APDUReader()
      var read: [APDU] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        read += reader.read(bytes[start..<min(start + size, bytes.count)])
      }
      #expect(read == packets)
      #expect(!reader.isInPacket)
    }
  }

  @Test(arguments: [0, 254, 255, 256, 65_535])
  func everyLengthIsReadAsItWasWritten(count: Int) {
    let packet = APDU(0x06D3, [UInt8](repeating: 1, count: count))
    var reader = APDUReader()
    #expect(reader.read(packet.bytes) == [packet])
  }

  @Test func fieldsThatLie() {
    for hex in ["04000000", "22f9f911", "99", "0400000000003a", "22fa", "87", "2712" + "3cf9f9f9"] {
      #expect(Fields(Recorded.hex(hex), .cp437) == nil)
    }
    #expect(Fields(Recorded.hex("2700" + "06820500"), .cp437)?.isWhole == false)
    #expect(Fields(Recorded.hex("2700" + "0688"), .cp437) == nil)
    #expect(Fields([], .cp437)?.resultCode == nil)
  }

  @Test func cardNumbersInTextsAreDropped() {
    let name = Recorded.hex("8bf1f9") + Array("4711 0080 0575 7038".utf8)
    #expect(Fields(name, .cp437)?.cardName == nil)
    #expect(Fields(Recorded.hex("22f0f4") + [0x12, 0x34, 0x56, 0x78], .cp437)?.last4 == nil)
    // A terminal's number has eight digits, and its clock fourteen.
    let number = Fields(Recorded.hex("060b" + "1f44084711008005757038"), .cp437)
    #expect(number?.isWhole == true && number?.terminal == nil)
    #expect(Fields(Recorded.hex("0607" + "1f440452523535"), .cp437)?.terminal == "52523535")
    let clocks = [
      "060f340d" + "1f0e0420230405" + "1f0f03225655": "20230405225655",
      "06133411" + "1f0e084711008005757038" + "1f0f03225655": nil,
      "06143412" + "1f0e0420230405" + "1f0f084711008005757038": nil,
    ]
    for (hex, clock) in clocks {
      let fields = Fields(Recorded.hex(hex), .cp437)
      #expect(fields?.isWhole == true && fields?.clock == clock)
    }
  }

  @Test func characterSets() {
    let umlauts = Recorded.hex("8bf0f4") + [0x84, 0x94, 0x81, 0xE1]
    #expect(Fields(umlauts, .cp437)?.cardName == "äöüß")
    let latin = Recorded.hex("8bf0f4") + [0xE4, 0xF6, 0xFC, 0xDF]
    #expect(Fields(latin, .latin1)?.cardName == "äöüß")
    let text = TerminalCommand.display(lines: ["Käse 키위"], seconds: 2).packet(.cp437).data
    let line: [UInt8] = [UInt8(ascii: "K"), 0x84] + Array("se ??".utf8)
    #expect(text == [0xF0, 2, 0xF1, 0xF0, 0xF7] + line)
    let latinText = TerminalCommand.display(lines: ["ä"], seconds: 2).packet(.latin1).data
    #expect(latinText.suffix(1) == [0xE4])
  }
}

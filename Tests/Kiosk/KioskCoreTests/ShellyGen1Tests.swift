import Devices
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import KioskCore

/// A Shelly of the first generation publishes its last event again every 30 seconds, however old it
/// is, and counts from 0 when it is switched on (shelly-api-docs.shelly.cloud/gen1, "MQTT",
/// `mqtt_update_period`).
@Suite struct ShellyGen1Tests {
  private let kiosk: TestKiosk

  init() throws {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall", dialect: .shellyGen1, topic: "shellies/s1",
        buttons: ["single": .order(Order(juice: "banana"))])
    ]
    kiosk = try TestKiosk(settings: settings)
  }

  private func event(
    _ count: Int, _ event: String = "S", input: Int = 0, retain: Bool = false,
    packetID: UInt16 = 0, redelivered: Bool = false
  ) -> Delivery {
    let payload = #"{"event":"\#(event)","event_cnt":\#(count)}"#
    return Delivery(
      message: Message(
        topic: "shellies/s1/input_event/\(input)", payload: Array(payload.utf8), retain: retain),
      packetID: packetID, isRedelivery: redelivered)
  }

  /// The number of glasses that were made.
  private var poured: Int { (10 - kiosk.stock["banana"]!) / 2 }

  // MARK: The first event

  /// A Shelly i3 (bieniu/ha-shellies-discovery #91).
  @Test(arguments: [0, 20, 3600]) func anOldEventThatANewKioskHearsPoursNothing(
    after seconds: Int
  ) throws {
    kiosk.pass(.seconds(seconds))
    for _ in 0..<3 {
      try kiosk.receive(event(4))
      kiosk.pass(.seconds(30))
    }
    #expect(poured == 0)
    try kiosk.receive(event(5))
    #expect(poured == 1)
    kiosk.pass(.seconds(30))
    try kiosk.receive(event(5), event(6))
    #expect(poured == 2)
  }

  /// A Shelly 1 that was just switched on (recorded with firmware 1.12).
  @Test func theFirstPressAfterSwitchingOnPours() throws {
    for _ in 0..<3 {
      try kiosk.receive(event(0, ""))
      try kiosk.receive(event(1))
      try kiosk.restart()
      try kiosk.receive(event(1))
    }
    #expect(poured == 3)
  }

  @Test func eachInputHasACountOfItsOwn() throws {
    try kiosk.receive(event(6, input: 0), event(6, input: 1))
    try kiosk.receive(event(7, input: 0), event(7, input: 1))
    #expect(poured == 2)
  }

  // MARK: Repeats

  @Test(arguments: [false, true]) func twentyRepeatsMakeOneJuice(restarting: Bool) throws {
    try kiosk.receive(event(65_533))
    for count in [65_534, 65_535, 0, 1] {
      for _ in 0..<20 {
        try kiosk.receive(event(count))
        kiosk.pass(.seconds(30))
        if restarting { try kiosk.restart() }
      }
    }
    #expect(poured == 4)
  }

  /// A Shelly Button1 publishes each event twice (bieniu/ha-shellies-discovery #238).
  @Test func whatIsSaidTwiceIsOnePress() throws {
    try kiosk.receive(event(1), event(1))
    try kiosk.receive(event(2), event(2))
    #expect(poured == 1)
  }

  @Test func aCountThatWasCommittedIsNotTakenBackByARedelivery() throws {
    func sure(_ count: Int, redelivered: Bool = false) -> Delivery {
      event(count, packetID: UInt16(count), redelivered: redelivered)
    }
    try kiosk.receive(event(3))
    try kiosk.receive(sure(4), sure(5))
    try kiosk.restart()
    try kiosk.receive(sure(4, redelivered: true), sure(5, redelivered: true))
    try kiosk.receive(sure(5))
    #expect(poured == 2)
  }

  // MARK: Long absences

  @Test(arguments: ["", "reload", "recover"])
  func whatWasPressedWhileTheKioskWasLongAwayPoursNothing(after interruption: String) throws {
    func interrupt() throws {
      if interruption == "reload" { try kiosk.reload() }
      if interruption == "recover" { try kiosk.recover() }
    }
    try kiosk.receive(event(0), event(1))
    kiosk.pass(.seconds(3600))
    try kiosk.restart(late: true)
    try interrupt()
    kiosk.pass(.seconds(20))
    try kiosk.receive(event(2))
    #expect(poured == 1)
    try interrupt()
    // The event from the absence has arrived, so all later ones are new.
    try kiosk.receive(event(3))
    #expect(poured == 2)
    try kiosk.restart(late: true)
    try kiosk.receive(event(3), event(4))
    #expect(poured == 3)
    try kiosk.restart(late: true)
    kiosk.pass(.seconds(36))
    try kiosk.receive(event(5))
    #expect(poured == 4)
  }

  /// The time server sets the clock right after the reconnect.
  @Test(arguments: [7_200, -7_200] as [Int64])
  func settingTheClockAfterALongAbsenceMakesNoOldPressNews(ahead seconds: Int64) throws {
    try kiosk.receive(event(0), event(1))
    kiosk.pass(.seconds(3600))
    try kiosk.restart(late: true)
    kiosk.pass(.seconds(5))
    kiosk.setClock(ahead: seconds)
    try kiosk.receive(event(2))
    #expect(poured == 1)
    try kiosk.receive(event(3))
    #expect(poured == 2)
  }

  @Test func anInputNeverHeardBeforeALongAbsencePoursItsFirstRealPress() throws {
    try kiosk.receive(event(7, input: 0))
    try kiosk.restart(late: true)
    kiosk.pass(.seconds(20))
    try kiosk.receive(event(4, input: 1))
    #expect(poured == 0)
    kiosk.pass(.seconds(5))
    try kiosk.receive(event(5, input: 1))
    #expect(poured == 1)
  }

  // MARK: Retained messages

  @Test func whatTheBrokerKeptIsNoPressAndMarksTheCount() throws {
    try kiosk.receive(event(7, retain: true))
    try kiosk.receive(event(7))
    #expect(poured == 0)
    try kiosk.receive(event(8))
    #expect(poured == 1)
  }

  /// The message may be from a time at which the device published retained messages.
  @Test func anOldCountThatTheBrokerKeptMakesNoOtherOneNews() throws {
    try kiosk.receive(event(7, retain: true), event(8))
    for _ in 0..<3 {
      try kiosk.restart()
      try kiosk.receive(event(7, retain: true), event(8))
    }
    #expect(poured == 0)
    try kiosk.receive(event(9))
    #expect(poured == 1)
  }
}

import Fleet
import JuiceDomain
import KioskProtocol

/// The boxes with tickets on the wall: what to pay, ready, not made, undecided, being made. A box
/// without content does not exist.
struct TicketBoxes {
  /// Maximum number of tickets in these boxes. All tickets of orders that were not made are shown: their
  /// customers read what becomes of their money.
  private static let (maximumMaking, maximumReady) = (12, 8)

  let kiosk: KioskState
  let now: Timestamp
  let language: Language

  var html: HTML { "\(pay)\(ready)\(sorry)\(undecided)\(making)" }

  /// Whether a ticket needs the name of its machine.
  private var hasMachines: Bool { kiosk.machines.count > 1 }

  private var ended: [EndedOrder] {
    let localTime = LocalTime(kiosk.timeZone, now: kiosk.clock(at: now), language)
    return kiosk.endedOrders(at: now, isToday: localTime.isToday)
  }

  /// The texts for the customers at the payment devices.
  private var pay: [HTML] {
    kiosk.paymentReports.compactMap { device, report in
      guard let text = report.message(in: language) else { return nil }
      let ticket: HTML? = (report.state == .off ? nil : report.ticket).map {
        "<b class=\"ticket\">\($0)</b>"
      }
      guard let amount = report.amount else {
        return "<div class=\"box sorry\"><p>\(ticket)<span>\(text)</span></p></div>"
      }
      let name = kiosk.payments.count > 1 ? " · \(device.text)" : ""
      return """
        <div class="box pay"><h2>\(language("Pay at the terminal", "단말기에서 결제해 주세요"))\(name)</h2>\
        <p>\(ticket)<span class="amount">\(amount.text(language))</span>\(kiosk.timeToPay(at: device, now, language))</p>\
        \(timeBar(of: device, report))</div>
        """
    }
  }

  /// The share of the time to pay that is left, without words: the text beside it says the time.
  private func timeBar(of device: PaymentDeviceID, _ report: PaymentReport) -> HTML? {
    guard let left = kiosk.secondsToPay(at: device, now), let all = report.paySeconds else {
      return nil
    }
    return "<progress max=\"\(all)\" value=\"\(left)\" aria-hidden=\"true\"></progress>"
  }

  private var ready: HTML? {
    let items: [HTML] = ended.filter { $0.end == .ready }.prefix(Self.maximumReady).map { order in
      let note = hasMachines ? order.machine?.text : kiosk.name(of: order.juice, language)
      return
        "<li><b class=\"ticket\">\(order.ticket)</b>\(note.map { "<small>\($0)</small>" as HTML })</li>\n"
    }
    return items.isEmpty
      ? nil
      : """
      <div class="box ready"><h2>\(language("Ready", "나왔어요"))</h2><ol>\(items)</ol></div>
      """
  }

  /// A box for each state of the money, with all its tickets.
  private var sorry: [HTML] {
    var groups: [(money: MoneyEnd?, tickets: [HTML], juices: [String])] = []
    for order in ended {
      guard case .notMade(let money) = order.end, money != .notCharged else { continue }
      let index = groups.firstIndex { $0.money == money } ?? groups.endIndex
      if index == groups.endIndex { groups.append((money, [], [])) }
      groups[index].tickets.append("<b class=\"ticket\">\(order.ticket)</b>\n")
      let name = kiosk.name(of: order.juice, language)
      if !groups[index].juices.contains(name) { groups[index].juices.append(name) }
    }
    return groups.map { money, tickets, juices in
      let text = CustomerMessage.failed(juices.joined(separator: ", "), in: language)
      return """
        <div class="box sorry"><p>\(tickets)\
        <span>\(text)\(money.map { " \($0.text(language))" as HTML })</span></p></div>
        """
    }
  }

  /// A box with the tickets whose jobs a person must decide about.
  private var undecided: HTML? {
    let tickets: [HTML] = kiosk.undecidedJobs.map {
      "<b class=\"ticket\">\($0.job.ticket)</b>\n"
    }
    return tickets.isEmpty
      ? nil
      : """
      <div class="box sorry"><p>\(tickets)\
      <span>\(language("Please ask us.", "직원에게 문의해 주세요."))</span></p></div>
      """
  }

  private var making: HTML? {
    let jobs = kiosk.jobs.filter { !$0.job.state.isUndecided }.sorted {
      ($0.job.rank, $0.job.at, $0.job.job) < ($1.job.rank, $1.job.at, $1.job.job)
    }
    guard !jobs.isEmpty else { return nil }
    let more = jobs.count - Self.maximumMaking
    let items: [HTML] = jobs.prefix(Self.maximumMaking).map { machine, job in
      let isCleaned = job.state == .queued && kiosk.machines[machine]?.state == .cleaning
      let cleaning = isCleaned ? language("after the cleaning", "청소 후") : nil
      let notes = [hasMachines ? machine.text : nil, job.waiting ?? cleaning].compactMap(\.self)
      let note: HTML? =
        notes.isEmpty
        ? nil
        : "<small\(job.waiting == nil ? .empty : " class=\"bad\"")>\(notes.joined(separator: " · "))</small>"
      return """
        <li class="\(job.state == .started ? "now" : .empty)"><b>\(job.ticket)</b>\(note)</li>

        """
    }
    return """
      <div class="box making"><h2>\(language("Being made", "만드는 중"))</h2>\
      <ol>\(items)\(more > 0 ? "<li><b>+\(more)</b></li>" : .empty)</ol></div>
      """
  }
}

extension KioskState {
  /// Returns the number of seconds that are left to pay at a device, or `nil` if it is unknown.
  func secondsToPay(at device: PaymentDeviceID, _ now: Timestamp) -> Int? {
    payDeadlines[device].map { deadline in
      Int(clamping: max(.zero, deadline.since(now)).components.seconds)
    }
  }

  /// Returns the time that is left to pay at a device, such as `2:14 left`, which the script counts
  /// down; or `nil` if it is unknown.
  func timeToPay(at device: PaymentDeviceID, _ now: Timestamp, _ language: Language) -> HTML? {
    secondsToPay(at: device, now).map { seconds in
      let time = "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
      return """
        <span class="left"><span data-left="\(seconds)">\(time)</span> \(language("left", "남음"))</span>
        """
    }
  }
}

extension MachineReport.Job {
  /// The sort order of the jobs that are being made: jobs in progress first.
  fileprivate var rank: Int {
    switch state {
    case .started: 0
    case .sent: 1
    case .queued: 2
    case .lost, .needsDecision: 3
    }
  }
}

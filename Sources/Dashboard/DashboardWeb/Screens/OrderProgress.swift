import Fleet
import JuiceDomain
import KioskProtocol

/// The progress of an order that a machine makes.
struct OrderProgress {
  /// The number of the order's entry in the ledger.
  let job: Int
  let order: Order
  let ticket: Int
  let stage: Stage

  enum Stage {
    /// The customer must pay this amount.
    case unpaid(Money)
    case queued(before: Int)
    /// The machine is being cleaned before it makes the juice.
    case cleaning
    case started
    /// The machine has started the job and waits, for this reason.
    case waiting(String)
    /// A person must decide about the job.
    case stuck
    case made
    /// The order was not made. `money` is `nil` for an order without a charge.
    case failed(reason: String, money: MoneyEnd?)
    /// The order was not paid. The text is the payment device's reason, or `nil` if no report
    /// contains it.
    case notPaid(PaymentEnd, String?)
  }

  /// Returns the part of a page that shows the progress.
  ///
  /// - Parameters:
  ///   - name: The name of the juice.
  ///   - isForCustomer: Whether the text omits reasons, which are for operators.
  ///   - detail: What follows the text.
  func part(
    _ name: LocalizedName, _ language: Language, isForCustomer: Bool, detail: HTML? = nil
  ) -> LivePart {
    let sorry = CustomerMessage.failed(name[language], in: language)
    let (style, step, text): (HTML, Int?, String) =
      switch stage {
      case .unpaid(let amount): ("", nil, CustomerMessage.pay(amount, in: language))
      case .queued(before: 0): ("", 0, language("You are next.", "다음 차례예요."))
      case .queued(let before):
        ("", 0, language("\(before) before you.", "앞에 \(before)건이 있어요."))
      case .cleaning:
        (
          "", 0,
          language(
            "The machine is being cleaned. It makes your juice after that.",
            "기계를 청소하고 있어요. 청소가 끝나면 만들어 드릴게요.")
        )
      case .started: ("", 1, language("It is being made now.", "지금 만들고 있어요."))
      case .waiting where isForCustomer:
        ("warn", 1, language("The machine is waiting.", "기계가 기다리고 있어요."))
      case .waiting(let reason):
        ("warn", 1, language("The machine is waiting: \(reason)", "기계가 기다리고 있어요: \(reason)"))
      case .stuck:
        ("warn", nil, language("Something is wrong. Please ask us.", "문제가 생겼어요. 직원에게 문의해 주세요."))
      case .made: ("good", 2, CustomerMessage.ready(name[language], in: language))
      case .notPaid(let end, let detail):
        ("bad", nil, CustomerMessage.notPaid(end, detail, in: language))
      case .failed(let reason, let money):
        (
          "bad", nil,
          (isForCustomer ? sorry : "\(sorry) (\(language.failure(reason)))")
            + (money.map { " \($0.text(language))" } ?? "")
        )
      }
    return LivePart(
      "order-\(job)", class: "notice \(style)",
      """
      <p><span class="ticket">\(language("Ticket", "번호")) <b>\(ticket)</b></span> · \
      \(name[language].times(order.quantity))</p>
      <p>\(text) \(detail)</p>
      \(step.map { steps($0, language) })
      """)
  }

  private func steps(_ current: Int, _ language: Language) -> HTML {
    let names = [
      language("In the queue", "대기"), language("Being made", "만드는 중"), language("Ready", "완성"),
    ]
    let steps: [HTML] = names.enumerated().map { number, name in
      let isNow = number == current && number < names.count - 1
      let style: HTML = isNow ? "now" : number <= current ? "done" : ""
      return """
        <li class="\(style)"\(isNow ? " aria-current=\"step\"" : .empty)>\(name)</li>
        """
    }
    return "<ol class=\"steps\">\(steps)</ol>"
  }
}

extension KioskState {
  /// The progress of the orders that the machines have, and of orders recently made or failed.
  var progress: [OrderProgress] {
    reports.machines.values.flatMap(\.progress)
      + orders.compactMap { entry in
        guard let end = entry.outcome.end else { return nil }
        let stage: OrderProgress.Stage =
          switch entry.outcome {
          case .failed(_, let reason, _), .returned(_, let reason, _):
            PaymentEnd(rawValue: reason)
              .map { OrderProgress.Stage.notPaid($0, decline(of: end.ticket.number)) }
              ?? .failed(reason: reason, money: moneyEnd(of: entry))
          default: .made
          }
        return OrderProgress(
          job: end.job, order: end.order, ticket: end.ticket.number, stage: stage)
      }
  }
}

extension KioskState {
  /// Returns the reason why the payment of a ticket was declined, or `nil` if it is unknown.
  private func decline(of ticket: Int) -> String? {
    reports.payments.values.first { $0.ticket == ticket && $0.declined != nil }?.declined
  }
}

extension MachineReport {
  fileprivate var progress: [OrderProgress] {
    var before = 0
    return jobs.map { job in
      let stage: OrderProgress.Stage
      switch job.state {
      case .queued: stage = state == .cleaning ? .cleaning : .queued(before: before)
      case .sent: stage = .queued(before: 0)
      case .started: stage = job.waiting.map { .waiting($0) } ?? .started
      case .lost, .needsDecision: stage = .stuck
      }
      if !job.state.isUndecided { before += 1 }
      return OrderProgress(
        job: job.job, order: Order(juice: job.juice, quantity: job.quantity), ticket: job.ticket,
        stage: stage)
    }
  }
}

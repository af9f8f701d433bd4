package import JuiceDomain

/// Texts for the customer, in the wording of the original Juice Maker.
package enum CustomerMessage {
  package static func ready(_ juice: String, in language: Language) -> String {
    switch language {
    case .english: "\(juice) is ready. Enjoy!"
    case .korean: "\(juice) 나왔습니다! 맛있게 드세요!"
    }
  }

  package static func accepted(
    _ juice: String, ticket: Int, in language: Language
  ) -> String {
    switch language {
    case .english: "\(juice) is being made. Your number is \(ticket)."
    case .korean: "\(juice) 만들고 있습니다. 번호는 \(ticket)번입니다."
    }
  }

  package static func failed(_ juice: String, in language: Language) -> String {
    switch language {
    case .english: "Sorry, \(juice) could not be made."
    case .korean: "죄송합니다. \(juice) 만들지 못했습니다."
    }
  }

  package static func machineDown(in language: Language) -> String {
    switch language {
    case .english: "The machine is out of order."
    case .korean: "기계가 고장 났습니다."
    }
  }

  package static func outOfStock(in language: Language) -> String {
    switch language {
    case .english: "Not enough fruit. Update the stock?"
    case .korean: "재료가 모자라요. 재고를 수정할까요?"
    }
  }

  package static func closed(in language: Language) -> String {
    switch language {
    case .english: "We are closed right now."
    case .korean: "지금은 영업시간이 아닙니다."
    }
  }
}

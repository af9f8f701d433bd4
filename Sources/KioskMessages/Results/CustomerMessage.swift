package import JuiceDomain

/// What the customer reads, in the words of the original Juice Maker.
package enum CustomerMessage {
  package static func ready(_ juice: LocalizedName, in language: Language) -> String {
    switch language {
    case .english: "\(juice[language]) is ready. Enjoy!"
    case .korean: "\(juice[language]) 나왔습니다! 맛있게 드세요!"
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

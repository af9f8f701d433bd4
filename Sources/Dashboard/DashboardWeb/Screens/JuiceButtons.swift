import Fleet
import JuiceDomain
import KioskProtocol

/// The buttons of the menu, on the virtual panel and on a tablet.
struct JuiceButtons {
  let kiosk: KioskState
  let language: Language
  let pictures: OwnPictures
  /// Whether the buttons of juices that cannot be ordered are disabled.
  let areDisabled: Bool

  var part: LivePart {
    guard let juices = kiosk.menu?.menu.juices, kiosk.stock != nil else {
      return LivePart(
        "buttons",
        "<p class=\"empty\">\(language("The kiosk has not sent its menu and its stock yet.", "아직 메뉴와 재고를 받지 못했어요."))</p>"
      )
    }
    return LivePart("buttons", class: "juices", "\(juices.map(button))")
  }

  private func button(_ juice: Juice) -> HTML {
    let servings = kiosk.stock.map { juice.servings(from: $0.fruits) } ?? 0
    let obstacle = kiosk.reports.obstacle(to: juice)
    // A juice that cannot be ordered has only its reason.
    let price = obstacle == nil ? juice.price.map { "\($0.text(language)) · " as HTML } : nil
    let left = obstacle?.text(language) ?? language("\(servings) left", "\(servings)잔 가능")
    let isDisabled = areDisabled && obstacle != nil
    let facts = obstacle == nil ? juice.facts(language) : ""
    return """
      <button id="juice-\(juice.id)" class="juice\(obstacle != nil ? " gone" : .empty)" name="juice" value="\(juice.id)"\(isDisabled ? " disabled" : .empty)>
      \(kiosk.menu?.picture(of: juice, pictures, language))<span class="words"><span class="name">\(juice.name[language])</span>
      <span class="muted">\(price)\(left)</span>\
      \(facts.isEmpty ? nil : "<small class=\"muted\">\(facts)</small>" as HTML)</span></button>

      """
  }
}

extension Juice {
  /// Returns the allergens and the note, or an empty text.
  func facts(_ language: Language) -> String {
    [allergens, note].compactMap { $0?[language] }.joined(separator: " · ")
  }
}

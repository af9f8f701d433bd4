import Fleet
import JuiceDomain
import KioskProtocol

/// The choice of the other kiosks that get a change, too.
struct OtherKiosks {
  /// Maximum number of kiosks that the page lists, and that one form changes.
  static let maximum = 200

  let kiosk: KioskState
  /// The kiosks that may be changed together with `kiosk`.
  let others: [KioskState]

  /// Returns the kiosks that a form chooses.
  ///
  /// - Throws: `RequestError.badForm` if it names another kiosk, such as one outside the user's region.
  func chosen(in form: Form) throws(RequestError) -> [KioskState] {
    var chosen: Set<KioskID> = []
    for name in form.names("kiosk.") {
      guard let id = KioskID(name), others.contains(where: { $0.id == id }) else { throw .badForm }
      chosen.insert(id)
    }
    return others.filter { other in
      chosen.contains(other.id) || form["all"] != nil
        || form["same_currency"] != nil && kiosk.currency != nil
          && other.currency == kiosk.currency
        || form["same_region"] != nil && other.region == kiosk.region
    }
  }

  static func tooMany(_ language: Language) -> HTML {
    language.notice(
      .warn, "Nothing was changed: a form changes at most \(maximum) other kiosks.",
      "한 번에 다른 키오스크 \(maximum)곳까지만 바꿀 수 있어 아무것도 바꾸지 않았어요.")
  }

  static func nothingChanged(_ language: Language) -> HTML {
    language.notice(
      .warn,
      "Nothing was changed: other kiosks get only what you change on this page. To give them the prices of this kiosk, tick “They get all prices of this kiosk”.",
      "아무것도 바꾸지 않았어요. 다른 키오스크에는 이 페이지에서 바꾼 값만 적용돼요. 이 키오스크의 가격을 적용하려면 ‘이 키오스크의 모든 가격 적용’을 골라 주세요.")
  }

  /// Returns the card, or `nil` if there are no other kiosks.
  ///
  /// - Parameters:
  ///   - filled: The form whose choice the card shows, or `nil`.
  ///   - givesPrices: Whether the form can give the others all prices of this kiosk.
  func card(_ filled: Form?, _ language: Language, givesPrices: Bool = false) -> HTML? {
    guard !others.isEmpty else { return nil }
    let rows: [HTML] = others.prefix(Self.maximum).map { other in
      let isTicked = filled?["kiosk.\(other.id)"] != nil
      return """
        <li><label class="choice"><input type="checkbox" name="kiosk.\(other.id)" value="1"\
        \(isTicked ? " checked" : .empty)>
        <span><b>\(other.title(language))</b> <span class="muted">\(other.place ?? "")</span></span></label>
        \(other.isOnline ? nil : "<span class=\"chip bad\">\(language("Offline", "오프라인"))</span>" as HTML)</li>

        """
    }
    func choice(_ name: String, _ text: String) -> HTML {
      """
      <li><label class="choice"><input type="checkbox" name="\(name)" value="1"\
      \(filled?[name] == nil ? .empty : " checked")> <b>\(text)</b></label></li>

      """
    }
    func group(_ name: String, _ words: String?, _ isIn: (KioskState) -> Bool) -> HTML? {
      let count = others.count(where: isIn)
      guard let words, (1...Self.maximum).contains(count) else { return nil }
      return choice(
        name,
        count == 1
          ? language("The one \(words)", "\(words) 1곳")
          : language("All \(count) \(words)", "\(words) \(count)곳 모두"))
    }
    let groups: [HTML] = [
      group("all", language(others.count == 1 ? "other kiosk" : "others", "다른 키오스크")) { _ in true },
      group(
        "same_currency",
        kiosk.currency.map { language("with prices in \($0.code)", "\($0.code) 가격인") }
      ) { $0.currency == kiosk.currency },
      group("same_region", kiosk.region.map { language("in \($0)", "\($0) 지역") }) {
        $0.region == kiosk.region
      },
    ].compactMap(\.self)
    let prices: HTML? =
      givesPrices
      ? "<ul class=\"choices\">\(choice("all_prices", language("They get all prices of this kiosk", "이 키오스크의 모든 가격 적용")))</ul>"
      : nil
    let more = others.count - Self.maximum
    return """
      <section class="card"><details\(isOpen(filled) ? " open" : .empty)>
      <summary>\(language("Change other kiosks, too", "다른 키오스크도 함께 바꾸기"))</summary>
      <p class="muted">\(language(
        "They get only what you change on this page, as far as they have the juice or the fruit and the same currency.",
        "이 페이지에서 바꾼 값만, 같은 쥬스·과일·통화가 있는 키오스크에 적용돼요."))</p>
      <ul class="choices">\(groups)\(rows)</ul>\(more > 0 ? "<p class=\"muted\">+\(more)</p>" : .empty)\(prices)</details></section>
      """
  }

  private func isOpen(_ filled: Form?) -> Bool {
    guard let filled else { return false }
    return !filled.names("kiosk.").isEmpty || filled["all"] != nil
      || filled["same_currency"] != nil || filled["same_region"] != nil
      || filled["all_prices"] != nil
  }
}

import Fleet
import JuiceDomain
import KioskProtocol

extension Recipe {
  /// Returns the fruits and amounts: `Kiwi 3, Mango 1`.
  func text(on menu: Menu?, _ language: Language) -> String {
    amounts.map { fruit, amount in
      let name = menu?.fruits.first { $0.id == fruit }?.name[language] ?? fruit.text
      return "\(name) \(amount)"
    }.joined(separator: ", ")
  }
}

extension Juice {
  /// Returns the recipe and a price: `Kiwi 3, €3.50`.
  func words(_ price: Money?, on menu: Menu?, _ language: Language) -> String {
    [recipe.text(on: menu, language), price?.text(language)].compactMap(\.self)
      .joined(separator: ", ")
  }
}

extension SettingsEdit {
  /// Returns the fruits and juices that are new, changed or removed at a kiosk, with the old values.
  func menuWords(at kiosk: KioskState, _ language: Language) -> [String] {
    let old = kiosk.baseMenu?.menu
    let change = kiosk.change(by: self)
    let new = kiosk.baseMenu(with: change)?.menu ?? old
    let added = fruits.filter(change.fruits.contains).map { fruit in
      language("new fruit: \(fruit.name[language])", "새 과일: \(fruit.name[language])")
    }
    let changed = juices.filter(change.juices.contains).map { juice in
      let name = juice.name[language]
      let recipe = juice.recipe.text(on: new, language)
      guard let before = old?.juice(juice.id) else {
        return language("new juice: \(name) (\(recipe))", "새 쥬스: \(name) (\(recipe))")
      }
      let steps =
        [(before.recipe.text(on: old, language), recipe)]
        + Language.allCases.flatMap {
          [(before.name[$0], juice.name[$0]), (before.facts($0), juice.facts($0))]
        } + [(before.picture?.description ?? "", juice.picture?.description ?? "")]
      var texts: [String] = []
      for (before, after) in steps where before != after {
        let text = "\(before.isEmpty ? "–" : before) → \(after.isEmpty ? "–" : after)"
        if !texts.contains(text) { texts.append(text) }
      }
      return texts.isEmpty ? name : "\(before.name[language]): \(texts.joined(separator: "; "))"
    }
    let removed =
      removedJuices.sorted().map { juice in
        let before = old?.juice(juice)
        let name = before?.name[language] ?? kiosk.name(of: juice, language)
        let price = kiosk.price(of: juice)
        let was = before?.words(price, on: old, language) ?? price?.text(language) ?? ""
        guard let file = kiosk.fileMenu?.menu.juice(juice) else {
          return language("removed juice: \(name) (\(was))", "뺀 쥬스: \(name) (\(was))")
        }
        return "\(name): \(was) → \(file.words(file.price, on: old, language))"
      }
      + removedFruits.sorted().map { fruit in
        let name = kiosk.name(of: fruit, language)
        return language("removed fruit: \(name)", "뺀 과일: \(name)")
      }
    return added + changed + removed
  }
}

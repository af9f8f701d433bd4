import Fleet
import JuiceDomain
import KioskProtocol

// The form for a juice; `MenuForm` reads it.
extension MenuPage {
  func form(_ base: Menu) -> HTML {
    let title =
      edited.map { language("Change \($0.name[language])", "\($0.name[language]) 바꾸기") }
      ?? language("New juice", "새 쥬스")
    let amounts: [HTML] = base.fruits.map { fruit in
      input(
        "amount.\(fruit.id)", fruit.name[language],
        edited?.recipe.amounts[fruit.id].map(String.init),
        number: true)
    }
    return """
      <form method="post" action="\(path)" class="settings">
      \(context.fields(id: id))\(kiosk.replacesField)\(edited.map { HTML.hidden("juice", $0.id.text) })
      <section class="card"><h2>\(title)</h2>
      \(edited == nil ? nil : "<p><a href=\"\(path)\">\(language("New juice instead", "새 쥬스 추가하기"))</a></p>" as HTML)
      <div class="line">\(input("name.en", language("Name in English", "영어 이름"), edited?.name[.english]))\
      \(input("name.ko", language("Name in Korean", "한국어 이름"), edited?.name[.korean]))</div>
      <fieldset class="line"><legend>\(language("Recipe of one glass", "한 잔의 레시피"))</legend>\(amounts)</fieldset>
      \(newFruit)
      <div class="line">\(price)\(picture)</div>
      \(more)
      </section>
      \(others.card(filled, language))
      <div class="actions">\(mustConfirm ? SettingsPage.confirmation(language) : nil)<button name="do" value="preview">\(language("Preview", "미리 보기"))</button>\
      <button class="primary" name="do" value="save">\(language("Save", "저장"))</button></div>
      </form>
      """
  }

  /// Returns a field with the value of the filled form if the user has changed it, or else `value`.
  private func input(
    _ name: String, _ label: String, _ value: String? = nil, number: Bool = false,
    placeholder: String = ""
  ) -> HTML {
    let field = filled.field(name, value ?? "")
    return """
      <label>\(label)<input name="\(name)" value="\(field.value ?? "")" autocomplete="off" \
      \(number ? "inputmode=\"numeric\" maxlength=\"10\"" : "maxlength=\"200\"")\
      \(placeholder.isEmpty ? nil : " placeholder=\"\(placeholder)\"" as HTML)>\(field.was)</label>

      """
  }

  private var isFruitOpen: Bool {
    !filled.names("fruit.").filter { filled["fruit.\($0)"] != "" }.isEmpty
  }

  private var newFruit: HTML {
    """
    <details class="more"\(isFruitOpen ? " open" : .empty)><summary>\(language("With a new fruit", "새 과일 넣기"))</summary>
    <p class="muted">\(language(
      "The kiosk has none of it until it is restocked. Every sensor that blocks fruit blocks it, too.",
      "재고를 채우기 전에는 0개예요. 과일을 차단하는 모든 센서가 이 과일도 차단해요."))</p>
    <div class="line">\(input("fruit.en", language("Fruit in English", "과일의 영어 이름")))\
    \(input("fruit.ko", language("Fruit in Korean", "과일의 한국어 이름")))\
    \(input("fruit.amount", language("Amount in the recipe", "레시피 수량"), number: true))\
    \(input("fruit.capacity", language("Capacity", "최대 수량"), number: true, placeholder: "\(Fruit.standardCapacity)"))\
    \(input("fruit.color", language("Color", "색"), placeholder: "#ff922b"))\
    \(input("fruit.crate", language("Pieces in a crate", "상자당 개수"), number: true))\
    \(input("fruit.keeps", language("Hours for sale after a restock", "재고를 채운 뒤 판매 가능 시간"), number: true))\
    \(input("fruit.id", language("Id (empty: from the name)", "id (비우면 이름으로)")))</div></details>
    """
  }

  private var price: HTML {
    let field = filled.field("price", edited.flatMap { kiosk.price(of: $0.id)?.text } ?? "")
    let currency: HTML? =
      kiosk.currency == nil
      ? input("currency", language("Currency, such as EUR", "통화 (예: KRW)")) : nil
    return """
      <label>\(language("Price", "가격"))\(kiosk.currency.map { " (\($0.code))" as HTML })\
      <input name="price" inputmode="decimal" maxlength="20" autocomplete="off" value="\(field.value ?? "")">\
      \(field.was)</label>\(currency)
      """
  }

  private var picture: HTML {
    let field = filled.field("picture", edited?.picture?.description ?? "")
    let chosen = field.value ?? ""
    let names = Set(pictures.names + [chosen]).filter { !$0.isEmpty }.sorted()
    let options: [HTML] = names.map { name in
      "<option value=\"\(name)\"\(name == chosen ? " selected" : .empty)>\(name)</option>"
    }
    return """
      <label>\(language("Picture", "그림"))<select name="picture"><option value="">\
      \(language("drawn from the recipe", "레시피로 그리기"))</option>\(options)</select>\(field.was)</label>
      """
  }

  private var more: HTML {
    let isOpen = ["allergens.en", "allergens.ko", "note.en", "note.ko", "name.id"].contains {
      !(filled[$0] ?? "").isEmpty
    }
    let id: HTML? =
      edited == nil
      ? input("name.id", language("Id (empty: from the name)", "id (비우면 이름으로)")) : nil
    return """
      <details class="more"\(isOpen || edited?.allergens != nil || edited?.note != nil ? " open" : .empty)>\
      <summary>\(language("Allergens, note, id", "알레르기 정보, 안내, id"))</summary><div class="line">\
      \(input("allergens.en", language("Allergens in English", "알레르기 정보(영어)"), edited?.allergens?[.english]))\
      \(input("allergens.ko", language("Allergens in Korean", "알레르기 정보(한국어)"), edited?.allergens?[.korean]))\
      \(input("note.en", language("Note in English", "안내(영어)"), edited?.note?[.english]))\
      \(input("note.ko", language("Note in Korean", "안내(한국어)"), edited?.note?[.korean]))\(id)</div></details>
      """
  }
}

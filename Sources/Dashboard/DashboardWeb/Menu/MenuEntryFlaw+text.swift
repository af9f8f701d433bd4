import JuiceDomain
import KioskProtocol

extension MenuEntryFlaw {
  /// Returns the reason with the name of the field.
  func text(_ language: Language) -> String {
    "\(field.text(language)): \(rule.text(language))"
  }
}

extension MenuEntryFlaw.Field {
  func text(_ language: Language) -> String {
    switch self {
    case .id: language("id", "id")
    case .name: language("name", "이름")
    case .crate: language("pieces in a crate", "상자당 개수")
    case .keepsHours: language("hours for sale", "판매 가능 시간")
    case .color: language("color", "색")
    case .recipe: language("recipe", "레시피")
    case .picture: language("picture", "그림")
    case .nameIn(.english): language("English name", "영어 이름")
    case .nameIn(.korean): language("Korean name", "한국어 이름")
    case .allergens(.english): language("allergens in English", "알레르기 정보(영어)")
    case .allergens(.korean): language("allergens in Korean", "알레르기 정보(한국어)")
    case .note(.english): language("note in English", "안내(영어)")
    case .note(.korean): language("note in Korean", "안내(한국어)")
    case .amount(let fruit): language("amount of \(fruit)", "\(fruit) 수량")
    case .other(let key): key
    }
  }
}

extension MenuEntryFlaw.Rule {
  func text(_ language: Language) -> String {
    switch self {
    case .missing: language("this is missing.", "입력해 주세요.")
    case .notIdentifier, .notObject, .notText, .unknown:
      language("use 1 to 64 of A-Z a-z 0-9 _ -.", "A-Z a-z 0-9 _ -를 1~64자로 적어 주세요.")
    case .duplicate: language("this is used twice.", "두 번 쓰였어요.")
    case .reserved:
      language("“default” is reserved; choose another.", "default는 쓸 수 없어요. 다른 이름으로 적어 주세요.")
    case .text(.empty): language("this must not be empty.", "비워 둘 수 없어요.")
    case .text(.invisible): language("write one line.", "한 줄로 적어 주세요.")
    case .text(.tooLong(let limit)):
      language("at most \(limit) characters.", "\(limit)자까지 적을 수 있어요.")
    case .notIn(let range):
      language(
        "write a whole number from \(range.lowerBound) to \(range.upperBound).",
        "\(range.lowerBound)부터 \(range.upperBound)까지의 정수로 적어 주세요.")
    case .notColor: language("write it like #ff922b.", "#ff922b처럼 적어 주세요.")
    case .notPicture: language("choose a picture from the list.", "목록에서 골라 주세요.")
    }
  }
}

extension SettingsFlaw {
  /// Returns the reason with the names on a menu.
  func text(_ language: Language, _ menu: Menu?) -> String {
    func name(_ juice: Juice.ID) -> String { menu?.juice(juice)?.name[language] ?? juice.text }
    func name(_ fruit: Fruit.ID) -> String {
      menu?.fruits.first { $0.id == fruit }?.name[language] ?? fruit.text
    }
    return switch self {
    case .chainMenu:
      language(
        "The chain assigns the menu of this kiosk.", "이 키오스크의 메뉴는 체인에서 정해요.")
    case .fruitOfFile(let fruit):
      language("\(name(fruit)) is in the kiosk's file already.", "\(name(fruit)): 이미 파일에 있어요.")
    case .recipe(let juice, let fruit):
      language(
        "\(name(juice)): the recipe has \(name(fruit)), which is not on the menu.",
        "\(name(juice)): 레시피의 \(name(fruit)) 과일이 메뉴에 없어요.")
    case .noMachine(let juice):
      language(
        "\(name(juice)): no machine of this kiosk makes it.", "\(name(juice)): 만들 수 있는 기계가 없어요.")
    case .unknownJuice(let juice):
      language("\(name(juice)) is not on the menu.", "\(name(juice)): 메뉴에 없는 쥬스예요.")
    case .currency(let juice, let currency):
      language(
        "\(name(juice)): the price is not in \(currency.code).",
        "\(name(juice)): 가격의 통화가 \(currency.code)가 아니에요.")
    case .noJuice:
      language("A kiosk must sell at least one juice.", "쥬스를 하나 이상 팔아야 해요.")
    case .unknownFruit(let fruit):
      language("\(name(fruit)) is not on the menu.", "\(name(fruit)): 메뉴에 없는 과일이에요.")
    case .lowAboveCapacity(let fruit, let low, let capacity):
      language(
        "\(name(fruit)) would be low at \(low), above its capacity of \(capacity).",
        "\(name(fruit)): 부족 기준 \(low)개가 최대 수량 \(capacity)개보다 커요.")
    }
  }
}

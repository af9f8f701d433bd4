package import JuiceMaker

extension Menu {
  /// The menu with the names in every language and the recipes.
  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("fruits", fruits) { json, fruit in
        json.member("id", fruit.id.text)
        json.member("name", fruit.name)
      }
      json.member("juices", juices) { json, juice in
        json.member("id", juice.id.text)
        json.member("name", juice.name)
        json.member("recipe", juice.recipe.amounts)
      }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func member(_ key: StaticString, _ name: LocalizedName) {
    member(key) { json in
      json.member("en", name[.english])
      json.member("ko", name[.korean])
    }
  }
}

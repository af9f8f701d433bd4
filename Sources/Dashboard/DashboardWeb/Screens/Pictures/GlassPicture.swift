import Foundation
import JuiceDomain
import KioskProtocol

/// The picture of a juice: a glass with a layer for each fruit of the recipe, and fruits at the rim.
///
/// The height of a layer is proportional to the square root of the fruit's amount, so that one
/// banana beside ten strawberries is visible. An owner's own juice has a picture without a drawing.
struct GlassPicture {
  /// Maximum number of fruits at the rim, and of layers; the fruits with the largest amounts.
  private static let (maximumFruits, maximumLayers) = (3, 8)
  /// The vertical range of the juice in the view box of 120 × 150.
  private static let (top, bottom) = (48.0, 141.0)

  /// The fruits with their amounts, the largest first.
  private let layers: [(picture: FruitPicture, amount: Int)]
  private let label: String

  init(of juice: Juice, on menu: Menu, _ language: Language) {
    let sorted = juice.recipe.amounts.sorted { ($1.amount, $0.fruit) < ($0.amount, $1.fruit) }
    layers = sorted.prefix(Self.maximumLayers).map { (menu.picture(of: $0.fruit), $0.amount) }
    let names = sorted.map { entry in
      menu.fruits.first { $0.id == entry.fruit }?.name[language] ?? entry.fruit.text
    }.joined(separator: ", ")
    label = language("A glass: \(names)", "잔 그림: \(names)")
  }

  var html: HTML {
    """
    <svg class="glass" viewBox="0 0 120 150" role="img" aria-label="\(label)">\
    <path d="M44 46L31 6" stroke="#e8590c" stroke-width="5" stroke-linecap="round"/>\
    \(juice)<path d="M31 46l7 88" stroke="#fff" stroke-opacity=".35" stroke-width="7" stroke-linecap="round"/>\
    <path d="M24 40h72l-8 94a8 8 0 0 1-8 7H40a8 8 0 0 1-8-7z" fill="none" stroke="#9aa69f" stroke-width="3"/>\
    \(fruits)</svg>
    """
  }

  /// The layers from the bottom to the top, as trapezoids that fit the glass.
  private var juice: [HTML] {
    let shares = layers.map { Double($0.amount).squareRoot() }
    let sum = max(1, shares.reduce(0, +))
    var lower = Self.bottom
    return zip(layers, shares).enumerated().map { index, layer in
      let upper =
        index == layers.count - 1 ? Self.top : lower - (Self.bottom - Self.top) * layer.1 / sum
      defer { lower = upper }
      let rounding: HTML = index == 0 ? "a8 8 0 0 1-8 7H40a8 8 0 0 1-8-7" : ""
      let base = index == 0 ? min(134, max(upper, 134)) : lower
      return """
        <path d="M\(number(Self.left(at: upper))) \(number(upper))H\(number(120 - Self.left(at: upper)))\
        L\(number(120 - Self.left(at: base))) \(number(base))\(rounding)\
        \(index == 0 ? .empty : "H\(number(Self.left(at: base)))" as HTML)z" fill="\(layer.0.picture.color)"/>
        """
    }
  }

  /// Returns the left edge of the glass at a height.
  private static func left(at y: Double) -> Double { 24 + (y - 40) * 8 / 94 }

  /// The fruits at the rim, from the right to the left.
  private var fruits: [HTML] {
    layers.prefix(Self.maximumFruits).enumerated().map { index, layer in
      layer.picture.drawn(atX: 86 - 34 * index, y: index == 1 ? 38 : 40)
    }
  }

  private func number(_ value: Double) -> String {
    String(format: "%.1f", value).replacing(".0", with: "")
  }
}

extension MenuReport {
  /// Returns the owner's own picture of a juice, or a picture of its recipe.
  func picture(of juice: Juice, _ own: OwnPictures, _ language: Language) -> HTML {
    if let picture = juice.picture, own[picture] != nil {
      return
        "<img class=\"glass\" src=\"/pictures/\(picture.description)\" alt=\"\(juice.name[language])\">"
    }
    return GlassPicture(of: juice, on: menu, language).html
  }
}

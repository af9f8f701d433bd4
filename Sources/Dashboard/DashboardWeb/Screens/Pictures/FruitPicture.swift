import Foundation
import JuiceDomain
import KioskProtocol

/// The drawing of a fruit: the shapes of a built-in fruit, otherwise a round fruit with a leaf.
///
/// Each drawing has few shapes without gradients and without ids, so that a page can contain it any
/// number of times, and the same light from the upper left.
struct FruitPicture {
  /// The color of the juice.
  let color: String
  private let shape: Shape

  private enum Shape: String {
    case strawberry, banana, kiwi, pineapple, mango
    case round
  }

  /// The colors of the built-in fruits, and of others that owners often use.
  private static let colors: [String: String] = [
    "strawberry": "#f03e3e", "banana": "#ffe066", "kiwi": "#94d82d", "pineapple": "#ffd43b",
    "mango": "#ffa94d", "orange": "#ff922b",
    "apple": "#c0d860", "apricot": "#ffb066", "beetroot": "#9c2752", "blackberry": "#5f3a6e",
    "blueberry": "#5c6bc0", "carrot": "#f76707", "celery": "#a9cf7c", "cherry": "#c2255c",
    "coconut": "#f1ece2", "cranberry": "#d6336c", "cucumber": "#8fce8a", "ginger": "#e8c77a",
    "grape": "#845ec2", "grapefruit": "#ff8787", "lemon": "#fff06a", "lime": "#a9e34b",
    "melon": "#b7e4a0", "papaya": "#ff9f5a", "peach": "#ffc078", "pear": "#d4dd70",
    "plum": "#8e4585", "pomegranate": "#c92a3e", "raspberry": "#e64980", "spinach": "#5a9e4b",
    "tomato": "#e8452c", "watermelon": "#ff6b6b",
  ]

  init(_ id: Fruit.ID, color: Fruit.Color? = nil) {
    shape = Shape(rawValue: id.text) ?? .round
    self.color = color?.description ?? Self.colors[id.text] ?? Self.derivedColor(of: id)
  }

  /// Returns a color with a hue that the id determines, also after a restart and on other computers.
  private static func derivedColor(of id: Fruit.ID) -> String {
    // FNV-1a, because the hash values of Swift differ between processes.
    let hash = id.text.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    let hue = Double(hash % 360) / 60
    let (strong, weak) = (235.0, 110.0)
    let middle = weak + (strong - weak) * (1 - abs(hue.truncatingRemainder(dividingBy: 2) - 1))
    let (red, green, blue) =
      switch Int(hue) {
      case 0: (strong, middle, weak)
      case 1: (middle, strong, weak)
      case 2: (weak, strong, middle)
      case 3: (weak, middle, strong)
      case 4: (middle, weak, strong)
      default: (strong, weak, middle)
      }
    return "#"
      + [red, green, blue].map { component in
        let digits = String(Int(component), radix: 16)
        return digits.count == 1 ? "0\(digits)" : digits
      }.joined()
  }

  /// The fruit as a picture of its own, for lists and sheets. The text beside it names the fruit.
  var icon: HTML {
    "<svg class=\"fruit-icon\" viewBox=\"-21 -22 42 42\" aria-hidden=\"true\">\(shapes)</svg>"
  }

  /// Returns the fruit within a picture of a glass.
  func drawn(atX x: Int, y: Int) -> HTML {
    "<g transform=\"translate(\(x) \(y))\">\(shapes)</g>"
  }

  /// The shapes around the origin, with a radius of 17.
  private var shapes: HTML {
    switch shape {
    case .strawberry:
      """
      <path d="M-14-7q14-12 29 0q2 16-14 25q-16-9-15-25z" fill="\(color)"/>\
      <path d="M-6-2v3M2-4v3M8-1v3M-2 4v3M5 6v3M-6 8v2M0 11v2" stroke="#ffe3e3" stroke-width="2" stroke-linecap="round"/>\
      <path d="M1-10q-8-7-12 1q7-2 12 0q6-3 12-1q-5-8-12-2q-1-5 1-7q-5 1-1 9z" fill="#2b8a3e"/>
      """
    case .banana:
      """
      <path d="M-17-9q6 22 30 14q5 5-4 9q-30 8-33-21z" fill="\(color)" stroke="#c99700" stroke-width="1.5"/>\
      <path d="M-18-8l0-6h4l1 5z" fill="#7c5e10"/>
      """
    case .kiwi:
      """
      <circle r="17" fill="#8d6e3f"/><circle r="15" fill="\(color)"/><circle r="5" fill="#f4fce3"/>\
      <path d="M0-10v3M5-9l-2 3M9-5l-3 1.5M10 0h-3M9 5l-3-1.5M5 9l-2-3M0 10v-3M-5 9l2-3M-9 5l3-1.5M-10 0h3M-9-5l3 1.5M-5-9l2 3" stroke="#1b1b1b" stroke-width="1.5" stroke-linecap="round"/>
      """
    case .pineapple:
      """
      <ellipse cy="5" rx="11" ry="14" fill="\(color)"/>\
      <path d="M-10 0L6 17M-6-6l16 17M-1-9l12 12M10 0L-6 17M6-6l-16 17M1-9l-12 12" stroke="#e08600" stroke-width="1.2"/>\
      <path d="M0-7q-10-4-11-10q6 0 9 5q-2-6 2-10q4 4 2 10q3-5 9-5q-1 6-11 10z" fill="#2b8a3e"/>
      """
    case .mango:
      """
      <path d="M-14 5q-1-18 15-19q16 2 14 15q-4 16-16 15q-12-1-13-11z" fill="\(color)"/>\
      <path d="M6-10q9 5 6 14" stroke="#f76707" stroke-width="4" stroke-linecap="round" fill="none"/>\
      <path d="M1-13q1-7 9-8q-1 8-9 8z" fill="#2b8a3e"/>
      """
    case .round:
      """
      <circle cy="1" r="15" fill="\(color)"/><path d="M-9-2q2-7 8-8" stroke="#fff" stroke-opacity=".6" stroke-width="3" stroke-linecap="round" fill="none"/>\
      <path d="M0-13q1-8 10-8q-2 8-10 8z" fill="#2b8a3e"/>
      """
    }
  }
}

extension Menu {
  func picture(of fruit: Fruit.ID) -> FruitPicture {
    FruitPicture(fruit, color: fruits.first { $0.id == fruit }?.color)
  }
}

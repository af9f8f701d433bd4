// swift-tools-version: 6.2
import PackageDescription

/// Warnings are errors only in deploy/check and deploy/test, which set the variable: a new compiler or
/// header must not break a user's build.
let warnings: [SwiftSetting] =
  Context.environment["KIOSK_WARNINGS"] == "error" ? [.treatAllWarnings(as: .error)] : []

/// Settings of every target: Swift 6 language mode, strict imports.
let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ] + warnings

/// The first level below `Sources` and `Tests`. Kiosk, Dashboard, Archive and Payment import Shared
/// and never each other: `deploy/check-imports` enforces it.
enum Product: String {
  case shared = "Shared"
  case kiosk = "Kiosk"
  case dashboard = "Dashboard"
  case archive = "Archive"
  case payment = "Payment"

  func library(
    _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []
  ) -> Target {
    .target(
      name: name, dependencies: dependencies, path: "Sources/\(rawValue)/\(name)",
      resources: resources, swiftSettings: settings)
  }

  func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
      name: name, dependencies: dependencies, path: "Sources/\(rawValue)/\(name)",
      swiftSettings: settings)
  }

  /// A system library: its pkg-config name, and its package in Debian and in Homebrew.
  func system(_ name: String, _ library: String, debian: String, homebrew: String) -> Target {
    .systemLibrary(
      name: name, path: "Sources/\(rawValue)/\(name)", pkgConfig: library,
      providers: [.apt([debian]), .brew([homebrew])])
  }

  func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
      name: name, dependencies: dependencies, path: "Tests/\(rawValue)/\(name)",
      swiftSettings: settings)
  }

  /// A library that only tests use.
  func testLibrary(
    _ name: String, _ dependencies: [Target.Dependency] = [], in folder: String? = nil
  ) -> Target {
    .target(
      name: name, dependencies: dependencies, path: "Tests/\(rawValue)/\(folder ?? name)",
      swiftSettings: settings)
  }

  /// A program that only tests use.
  func testProgram(
    _ name: String, _ dependencies: [Target.Dependency], in folder: String? = nil
  ) -> Target {
    .executableTarget(
      name: name, dependencies: dependencies, path: "Tests/\(rawValue)/\(folder ?? name)",
      swiftSettings: settings)
  }
}

let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(
  name: "HummingbirdTLS", package: "hummingbird", condition: .when(traits: ["TLS"]))
let lifecycle = Target.Dependency.product(
  name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(
  name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"]))
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let unixSignals = Target.Dependency.product(
  name: "UnixSignals", package: "swift-service-lifecycle")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

let shared: [Target] = [
  Product.shared.library("JuiceDomain"),
  Product.shared.library("KioskProtocol", ["JuiceDomain"]),
  Product.shared.library("MessageBroker"),
  Product.shared.system(
    "CMosquitto", "libmosquitto", debian: "libmosquitto-dev", homebrew: "mosquitto"),
  Product.shared.library("MosquittoBroker", ["CMosquitto", "MessageBroker"]),
  Product.shared.system("CPostgreSQL", "libpq", debian: "libpq-dev", homebrew: "libpq"),
  Product.shared.library("Postgres", ["CPostgreSQL"]),
  Product.shared.system("CAbseil", "absl_time_zone", debian: "libabsl-dev", homebrew: "abseil"),
  // The archive on Linux: the name of the shared library differs between releases of Debian, so that a
  // program that is built on one would not start on the next.
  .target(
    name: "CTimeZone",
    dependencies: [.target(name: "CAbseil", condition: .when(platforms: [.macOS]))],
    path: "Sources/Shared/CTimeZone",
    linkerSettings: [.linkedLibrary(":libabsl_time_zone.a", .when(platforms: [.linux]))]),
  Product.shared.library("TimeZones", ["CTimeZone", "KioskProtocol"]),
  Product.shared.library(
    "YAMLConfiguration", ["JuiceDomain", "KioskProtocol", "TimeZones", yams]),
  Product.shared.library(
    "CommandLineSupport",
    [
      "YAMLConfiguration", "KioskProtocol", "MessageBroker", "MosquittoBroker", argumentParser,
      lifecycle, logging, unixSignals,
    ]),

  Product.shared.testLibrary("TestSupport"),
  Product.shared.testLibrary("InMemoryBroker", ["MessageBroker"]),
  Product.shared.tests("JuiceDomainTests", ["JuiceDomain"]),
  Product.shared.tests("KioskProtocolTests", ["JuiceDomain", "KioskProtocol"]),
  Product.shared.tests("TimeZonesTests", ["KioskProtocol", "TimeZones"]),
  Product.shared.tests(
    "MessageBrokerTests", ["InMemoryBroker", "MessageBroker", "MosquittoBroker", "TestSupport"]),
  Product.shared.tests("CommandLineSupportTests", ["TestSupport", "CommandLineSupport"]),
  Product.shared.testLibrary(
    "FuzzTargets",
    [
      "Archive", "YAMLConfiguration", "Devices", "JuiceDomain", "KioskCore", "KioskDaemon",
      "KioskProtocol", "MessageBroker", "ZVT",
    ], in: "Fuzz/Targets"),
  Product.shared.tests("FuzzCorpusTests", ["FuzzTargets"]),
]

let kiosk: [Target] = [
  Product.kiosk.library("Devices", ["JuiceDomain", "KioskProtocol"]),
  Product.kiosk.library("HomeAssistant", ["JuiceDomain", "KioskProtocol"]),
  Product.kiosk.library(
    "KioskCore", ["Devices", "JuiceDomain", "KioskProtocol", "MessageBroker", "TimeZones"]),
  Product.kiosk.library(
    "Ledger", ["JuiceDomain", "KioskCore", "KioskProtocol", "TimeZones", grdb, sqlite]),
  Product.kiosk.library(
    "KioskDaemon",
    [
      "YAMLConfiguration", "Devices", "JuiceDomain", "KioskCore", "KioskProtocol", "Ledger",
      "MessageBroker", "TimeZones", logging,
    ]),
  Product.kiosk.program(
    "juice-kiosk",
    [
      "CommandLineSupport", "YAMLConfiguration", "Devices", "HomeAssistant", "JuiceDomain",
      "KioskCore", "KioskDaemon", "KioskProtocol", "Ledger", "MessageBroker", "TimeZones",
      argumentParser, lifecycle, logging, unixSignals,
    ]),

  Product.kiosk.tests("DevicesTests", ["Devices", "JuiceDomain", "KioskProtocol"]),
  Product.kiosk.tests("HomeAssistantTests", ["HomeAssistant", "JuiceDomain", "KioskProtocol"]),
  Product.kiosk.tests(
    "KioskCoreTests",
    [
      "Devices", "JuiceDomain", "KioskCore", "KioskProtocol", "Ledger", "MessageBroker",
      "TimeZones",
    ]),
  Product.kiosk.tests(
    "LedgerTests", ["JuiceDomain", "KioskCore", "KioskProtocol", "Ledger", grdb, sqlite]),
  Product.kiosk.tests(
    "ConfigurationTests",
    [
      "TestSupport", "YAMLConfiguration", "Devices", "JuiceDomain", "KioskCore", "KioskDaemon",
      "KioskProtocol", "TimeZones",
    ]),
  Product.kiosk.tests(
    "KioskDaemonTests",
    [
      "Devices", "InMemoryBroker", "JuiceDomain", "KioskCore", "KioskDaemon", "KioskProtocol",
      "Ledger", "MessageBroker", "TimeZones", grdb, logging,
    ]),
  Product.kiosk.tests(
    "UplinkTests",
    [
      "InMemoryBroker", "JuiceDomain", "KioskCore", "KioskDaemon", "KioskProtocol", "Ledger",
      "MessageBroker", grdb, logging,
    ]),
  Product.kiosk.testLibrary(
    "Simulation",
    [
      "Devices", "InMemoryBroker", "JuiceDomain", "KioskCore", "KioskDaemon", "KioskProtocol",
      "Ledger", "MessageBroker", grdb, logging,
    ]),
  Product.kiosk.testProgram("simulate-kiosk", ["Simulation", argumentParser]),
  Product.kiosk.tests("SimulationTests", ["InMemoryBroker", "MessageBroker", "Simulation"]),
  Product.kiosk.testProgram(
    "count-instructions",
    [
      "Devices", "Fleet", "InMemoryBroker", "JuiceDomain", "KioskCore", "KioskDaemon",
      "KioskProtocol", "Ledger", "MessageBroker", logging,
    ], in: "Instructions/Sources"),
]

let dashboard: [Target] = [
  Product.dashboard.library("Fleet", ["JuiceDomain", "KioskProtocol"]),
  Product.dashboard.system("CLibcrypto", "libcrypto", debian: "libssl-dev", homebrew: "openssl@3"),
  Product.dashboard.system(
    "CQRencode", "libqrencode", debian: "libqrencode-dev", homebrew: "qrencode"),
  Product.dashboard.library(
    "DashboardWeb",
    [
      "CLibcrypto", "CQRencode", "CommandLineSupport", "YAMLConfiguration", "Fleet", "JuiceDomain",
      "KioskProtocol", "MessageBroker", "Postgres", "TimeZones", httpTypes, hummingbird,
      hummingbirdCore, lifecycle, logging, nioCore, nioHTTPTypes,
    ],
    resources: [
      .embedInCode("Assets/icon.svg"), .embedInCode("Assets/routes.js"),
      .embedInCode("Assets/screen.css"), .embedInCode("Assets/screen.js"),
      .embedInCode("Assets/script.js"), .embedInCode("Assets/style.css"),
      .embedInCode("Assets/worker.js"),
    ]),
  Product.dashboard.system(
    "CCurl", "libcurl", debian: "libcurl4-openssl-dev", homebrew: "curl"),
  Product.dashboard.library("Delivery", ["CCurl"]),
  Product.dashboard.program(
    "juice-dashboard",
    [
      "CommandLineSupport", "YAMLConfiguration", "DashboardWeb", "Delivery", "Fleet", "JuiceDomain",
      "KioskProtocol", "TimeZones", argumentParser, hummingbirdCore, hummingbirdTLS, lifecycle,
      logging, nioCore, nioSSL, unixSignals,
    ]),

  Product.dashboard.tests("FleetTests", ["Fleet", "JuiceDomain", "KioskProtocol"]),
  Product.dashboard.tests("DeliveryTests", ["TestSupport", "Delivery"]),
  Product.dashboard.tests(
    "DashboardWebTests",
    [
      "TestSupport", "CommandLineSupport", "YAMLConfiguration", "DashboardWeb", "Fleet",
      "InMemoryBroker",
      "JuiceDomain", "KioskProtocol", "MessageBroker", "Postgres", httpTypes, hummingbird, logging,
      nioCore, nioEmbedded, nioHTTPTypes, "TimeZones",
    ]),
]

let archive: [Target] = [
  Product.archive.library(
    "Archive",
    [
      "YAMLConfiguration", "JuiceDomain", "KioskProtocol", "MessageBroker", "Postgres", "TimeZones",
      lifecycle, logging,
    ]),
  Product.archive.program(
    "juice-archive",
    [
      "Archive", "CommandLineSupport", "YAMLConfiguration", "KioskProtocol", "MessageBroker",
      "Postgres", "TimeZones", argumentParser, lifecycle, logging,
    ]),

  Product.archive.tests(
    "ArchiveTests",
    [
      "TestSupport", "Archive", "YAMLConfiguration", "JuiceDomain", "KioskProtocol",
      "MessageBroker", "TimeZones",
    ]),
  Product.archive.testProgram(
    "measure-archive", ["Archive", "KioskProtocol", "MessageBroker", "Postgres", argumentParser]),
  Product.archive.testProgram(
    "run-crowd",
    [
      "InMemoryBroker", "JuiceDomain", "KioskCore", "KioskDaemon", "KioskProtocol", "Ledger",
      "MessageBroker", "MosquittoBroker", "TimeZones", argumentParser, logging,
    ], in: "Crowd"),
]

let payment: [Target] = [
  Product.payment.library("ZVT", ["JuiceDomain", "KioskProtocol"]),
  Product.payment.program(
    "juice-zvt",
    [
      "CommandLineSupport", "JuiceDomain", "KioskProtocol", "MessageBroker", "YAMLConfiguration",
      "ZVT", "TimeZones", argumentParser, lifecycle, logging, nioCore, nioPosix,
    ]),

  Product.payment.tests("ZVTTests", ["JuiceDomain", "KioskProtocol", "ZVT"]),
]

let package = Package(
  name: "juice-kiosk",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "juice-kiosk", targets: ["juice-kiosk"]),
    .executable(name: "juice-dashboard", targets: ["juice-dashboard"]),
    .executable(name: "juice-archive", targets: ["juice-archive"]),
    .executable(name: "juice-zvt", targets: ["juice-zvt"]),
  ],
  traits: [
    .default(enabledTraits: ["TLS"]),
    .trait(
      name: "TLS",
      description: "'dashboard.tls' of juice-dashboard: half of its build time is BoringSSL."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(
      url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: shared + kiosk + dashboard + archive + payment
)

// Only the fuzzing script asks for it: it links with libFuzzer, which comes with `-sanitize=fuzzer`.
if Context.environment["KIOSK_FUZZ"] != nil {
  package.targets.append(
    Product.shared.testProgram("KioskFuzz", ["FuzzTargets"], in: "Fuzz/Sources"))
}

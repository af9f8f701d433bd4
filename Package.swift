// swift-tools-version: 6.2
import PackageDescription

/// Shared by every target: the language as strict as it comes, and no warning left standing.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
]

let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let lifecycle = Target.Dependency.product(
  name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let unixSignals = Target.Dependency.product(
  name: "UnixSignals", package: "swift-service-lifecycle")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

// The arrows between the targets are the architecture: deploy/check-imports holds them.
let package = Package(
  name: "juice-kiosk",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "juice-kiosk", targets: ["juice-kiosk"])
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
  ],
  targets: [
    .target(name: "JuiceMaker", swiftSettings: settings),
    .target(name: "KioskMessages", dependencies: ["JuiceMaker"], swiftSettings: settings),
    .target(
      name: "HomeAssistant", dependencies: ["JuiceMaker", "KioskMessages"], swiftSettings: settings),
    .target(name: "MessageBroker", swiftSettings: settings),
    .target(
      name: "Panels", dependencies: ["JuiceMaker", "KioskMessages"], swiftSettings: settings),
    .systemLibrary(
      name: "CMosquitto", pkgConfig: "libmosquitto",
      providers: [.apt(["libmosquitto-dev"]), .brew(["mosquitto"])]),
    .target(
      name: "MosquittoBroker", dependencies: ["MessageBroker", "CMosquitto"],
      swiftSettings: settings),
    .target(
      name: "Ledger", dependencies: ["JuiceMaker", "KioskMessages", grdb], swiftSettings: settings),
    .target(
      name: "KioskConfiguration", dependencies: ["JuiceMaker", "KioskMessages", "Panels", yams],
      swiftSettings: settings),
    .target(
      name: "KioskController",
      dependencies: ["JuiceMaker", "KioskMessages", "MessageBroker", "Ledger", "Panels", logging],
      swiftSettings: settings),
    .executableTarget(
      name: "juice-kiosk",
      dependencies: [
        "JuiceMaker", "KioskMessages", "MessageBroker", "MosquittoBroker", "Ledger",
        "KioskConfiguration", "KioskController", "Panels", "HomeAssistant", argumentParser,
        lifecycle, logging, subprocess, unixSignals,
      ],
      swiftSettings: settings),

    .target(
      name: "Simulation",
      dependencies: [
        "JuiceMaker", "KioskMessages", "MessageBroker", "Ledger", "KioskController", grdb, logging,
      ],
      path: "Tests/Simulation", swiftSettings: settings),
    .executableTarget(
      name: "simulate-kiosk", dependencies: ["Simulation", argumentParser],
      path: "Tests/simulate-kiosk", swiftSettings: settings),
    .testTarget(
      name: "SimulationTests", dependencies: ["Simulation"], swiftSettings: settings),
    .target(name: "KioskTestSupport", path: "Tests/KioskTestSupport", swiftSettings: settings),
    .testTarget(name: "JuiceMakerTests", dependencies: ["JuiceMaker"], swiftSettings: settings),
    .testTarget(
      name: "KioskMessagesTests", dependencies: ["JuiceMaker", "KioskMessages"],
      swiftSettings: settings),
    .testTarget(
      name: "PanelsTests", dependencies: ["JuiceMaker", "KioskMessages", "Panels"],
      swiftSettings: settings),
    .testTarget(
      name: "HomeAssistantTests", dependencies: ["JuiceMaker", "KioskMessages", "HomeAssistant"],
      swiftSettings: settings),
    .testTarget(
      name: "MessageBrokerTests",
      dependencies: ["MessageBroker", "MosquittoBroker", "KioskTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "LedgerTests", dependencies: ["JuiceMaker", "KioskMessages", "Ledger", grdb],
      swiftSettings: settings),
    .testTarget(
      name: "KioskConfigurationTests",
      dependencies: ["JuiceMaker", "KioskMessages", "KioskConfiguration", "Panels"],
      swiftSettings: settings),
    .testTarget(
      name: "KioskControllerTests",
      dependencies: [
        "JuiceMaker", "KioskMessages", "MessageBroker", "Ledger", "Panels", "KioskController",
        logging,
      ],
      swiftSettings: settings),
  ]
)

// Only Tests/Fuzz/run asks for it: it links with libFuzzer, which comes with `-sanitize=fuzzer`.
if Context.environment["KIOSK_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "KioskFuzz",
      dependencies: [
        "JuiceMaker", "KioskConfiguration", "KioskMessages", "MessageBroker", "Panels",
      ],
      path: "Tests/Fuzz/Sources", swiftSettings: settings))
}

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
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let lifecycle = Target.Dependency.product(
  name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let unixSignals = Target.Dependency.product(
  name: "UnixSignals", package: "swift-service-lifecycle")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

// The arrows between the targets are the architecture: deploy/check-imports holds them.
let package = Package(
  name: "juice-kiosk",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "juice-kiosk", targets: ["juice-kiosk"]),
    .executable(name: "juice-dashboard", targets: ["juice-dashboard"]),
    .executable(name: "juice-archive", targets: ["juice-archive"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(
      url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .target(name: "JuiceDomain", swiftSettings: settings),
    .target(name: "KioskMessages", dependencies: ["JuiceDomain"], swiftSettings: settings),
    .target(
      name: "HomeAssistant", dependencies: ["JuiceDomain", "KioskMessages"], swiftSettings: settings
    ),
    .target(name: "MessageBroker", swiftSettings: settings),
    .target(
      name: "Panels", dependencies: ["JuiceDomain", "KioskMessages"], swiftSettings: settings),
    .systemLibrary(
      name: "CMosquitto", pkgConfig: "libmosquitto",
      providers: [.apt(["libmosquitto-dev"]), .brew(["mosquitto"])]),
    .target(
      name: "MosquittoBroker", dependencies: ["MessageBroker", "CMosquitto"],
      swiftSettings: settings),
    .target(
      name: "KioskCore", dependencies: ["JuiceDomain", "KioskMessages", "MessageBroker", "Panels"],
      swiftSettings: settings),
    .target(
      name: "Ledger",
      dependencies: ["JuiceDomain", "KioskCore", "KioskMessages", grdb, sqlite],
      swiftSettings: settings),
    .target(
      name: "ConfigurationFiles",
      dependencies: ["JuiceDomain", "KioskCore", "KioskMessages", "Panels", yams],
      swiftSettings: settings),
    .target(
      name: "KioskController",
      dependencies: [
        "JuiceDomain", "KioskCore", "KioskMessages", "MessageBroker", "Ledger", "Panels", logging,
        metrics,
      ],
      swiftSettings: settings),
    .target(
      name: "Uplink",
      dependencies: [
        "JuiceDomain", "KioskCore", "KioskMessages", "MessageBroker", "Ledger", logging,
      ],
      swiftSettings: settings),
    .target(name: "StateFiles", swiftSettings: settings),
    .target(
      name: "Program",
      dependencies: [
        "ConfigurationFiles", "KioskMessages", "MessageBroker", "MosquittoBroker", argumentParser,
        lifecycle, logging, unixSignals,
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "juice-kiosk",
      dependencies: [
        "JuiceDomain", "KioskCore", "KioskMessages", "MessageBroker", "Ledger",
        "ConfigurationFiles",
        "KioskController", "Panels", "HomeAssistant", "Program", "StateFiles", "Uplink",
        argumentParser, lifecycle, logging, unixSignals,
      ],
      swiftSettings: settings),
    .target(
      name: "Fleet", dependencies: ["JuiceDomain", "KioskMessages"],
      swiftSettings: settings),
    .systemLibrary(
      name: "CLibcrypto", pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .target(
      name: "Dashboard",
      dependencies: [
        "Fleet", "JuiceDomain", "KioskMessages", "MessageBroker", "Postgres", "StateFiles",
        "CLibcrypto", httpTypes, hummingbird, hummingbirdCore, lifecycle, logging, nioCore,
        nioHTTPTypes,
      ],
      resources: [
        .embedInCode("Assets/icon.svg"), .embedInCode("Assets/routes.js"),
        .embedInCode("Assets/script.js"), .embedInCode("Assets/style.css"),
        .embedInCode("Assets/worker.js"),
      ],
      swiftSettings: settings),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl",
      providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .target(name: "CurlDelivery", dependencies: ["CCurl"], swiftSettings: settings),
    .executableTarget(
      name: "juice-dashboard",
      dependencies: [
        "CurlDelivery", "Dashboard", "Fleet", "JuiceDomain", "ConfigurationFiles", "KioskMessages",
        "Program", "StateFiles", argumentParser, hummingbirdCore, hummingbirdTLS, lifecycle,
        logging, nioSSL,
      ],
      swiftSettings: settings),
    .systemLibrary(
      name: "CPostgreSQL", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(name: "Postgres", dependencies: ["CPostgreSQL"], swiftSettings: settings),
    .target(
      name: "Archive",
      dependencies: [
        "Postgres", "JuiceDomain", "KioskMessages", "MessageBroker", lifecycle, logging,
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "juice-archive",
      dependencies: [
        "Archive", "ConfigurationFiles", "KioskMessages", "MessageBroker", "Postgres", "Program",
        argumentParser, lifecycle, logging,
      ],
      swiftSettings: settings),

    .target(
      name: "InMemoryBroker", dependencies: ["MessageBroker"], path: "Tests/InMemoryBroker",
      swiftSettings: settings),
    .target(
      name: "Simulation",
      dependencies: [
        "InMemoryBroker",
        "JuiceDomain", "KioskCore", "KioskMessages", "MessageBroker", "Ledger", "KioskController",
        grdb, logging,
      ],
      path: "Tests/Simulation", swiftSettings: settings),
    .executableTarget(
      name: "simulate-kiosk", dependencies: ["Simulation", argumentParser],
      path: "Tests/simulate-kiosk", swiftSettings: settings),
    .executableTarget(
      name: "count-instructions",
      dependencies: [
        "Fleet", "JuiceDomain", "KioskCore", "KioskMessages", "MessageBroker", "Ledger", "Panels",
      ],
      path: "Tests/Instructions/Sources", swiftSettings: settings),
    .executableTarget(
      name: "run-crowd",
      dependencies: [
        "InMemoryBroker",
        "JuiceDomain", "KioskController", "KioskCore", "KioskMessages", "Ledger", "MessageBroker",
        "MosquittoBroker", "Uplink", argumentParser, logging,
      ],
      path: "Tests/Crowd", swiftSettings: settings),
    .testTarget(
      name: "SimulationTests", dependencies: ["InMemoryBroker", "MessageBroker", "Simulation"],
      swiftSettings: settings),
    .target(name: "KioskTestSupport", path: "Tests/KioskTestSupport", swiftSettings: settings),
    .testTarget(name: "JuiceDomainTests", dependencies: ["JuiceDomain"], swiftSettings: settings),
    .testTarget(
      name: "KioskMessagesTests", dependencies: ["JuiceDomain", "KioskMessages"],
      swiftSettings: settings),
    .testTarget(
      name: "PanelsTests", dependencies: ["JuiceDomain", "KioskMessages", "Panels"],
      swiftSettings: settings),
    .testTarget(
      name: "HomeAssistantTests", dependencies: ["JuiceDomain", "KioskMessages", "HomeAssistant"],
      swiftSettings: settings),
    .testTarget(
      name: "MessageBrokerTests",
      dependencies: ["InMemoryBroker", "MessageBroker", "MosquittoBroker", "KioskTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "KioskCoreTests",
      dependencies: [
        "JuiceDomain", "KioskCore", "KioskMessages", "Ledger", "MessageBroker", "Panels",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LedgerTests",
      dependencies: ["JuiceDomain", "KioskCore", "KioskMessages", "Ledger", grdb, sqlite],
      swiftSettings: settings),
    .testTarget(
      name: "ConfigurationFilesTests",
      dependencies: ["JuiceDomain", "KioskMessages", "ConfigurationFiles", "KioskCore", "Panels"],
      swiftSettings: settings),
    .target(
      name: "FuzzTargets",
      dependencies: [
        "Archive", "JuiceDomain", "ConfigurationFiles", "KioskCore", "KioskMessages",
        "MessageBroker", "Panels",
      ],
      path: "Tests/Fuzz/Targets", swiftSettings: settings),
    .testTarget(
      name: "FuzzCorpusTests", dependencies: ["FuzzTargets"], swiftSettings: settings),
    .testTarget(
      name: "FleetTests", dependencies: ["Fleet", "JuiceDomain", "KioskMessages"],
      swiftSettings: settings),
    .testTarget(name: "StateFilesTests", dependencies: ["StateFiles"], swiftSettings: settings),
    .testTarget(
      name: "CurlDeliveryTests", dependencies: ["CurlDelivery"], swiftSettings: settings),
    .testTarget(
      name: "DashboardTests",
      dependencies: [
        "InMemoryBroker",
        "Dashboard", "Fleet", "JuiceDomain", "KioskMessages", "MessageBroker", "Postgres",
        "StateFiles", httpTypes, hummingbird, logging, nioCore, nioEmbedded, nioHTTPTypes,
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "measure-archive",
      dependencies: ["Archive", "KioskMessages", "MessageBroker", "Postgres", argumentParser],
      path: "Tests/Benchmarks/Archive", swiftSettings: settings),
    .testTarget(
      name: "ArchiveTests",
      dependencies: ["Archive", "JuiceDomain", "KioskMessages", "MessageBroker"],
      swiftSettings: settings),
    .testTarget(
      name: "KioskControllerTests",
      dependencies: [
        "InMemoryBroker",
        "JuiceDomain", "KioskCore", "KioskMessages", "MessageBroker", "Ledger", "Panels",
        "KioskController", grdb, logging, metrics, metricsTestKit,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "UplinkTests",
      dependencies: [
        "InMemoryBroker",
        "JuiceDomain", "KioskCore", "KioskMessages", "MessageBroker", "Ledger", "Uplink", logging,
      ],
      swiftSettings: settings),
  ]
)

// Only Tests/Fuzz/run asks for it: it links with libFuzzer, which comes with `-sanitize=fuzzer`.
if Context.environment["KIOSK_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "KioskFuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Sources",
      swiftSettings: settings))
}

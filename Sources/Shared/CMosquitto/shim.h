#pragma once
#include <mosquitto.h>
// mosquitto.h of libmosquitto 2.1 includes it; its old name is a warning there.
#if LIBMOSQUITTO_VERSION_NUMBER < 2001000
#include <mqtt_protocol.h>
#endif

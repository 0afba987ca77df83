// Where the API listens by default: on this machine only.

/** Where the API listens where nothing else is said: on loopback. */
export const API_HOST = "127.0.0.1";
/** The port of the API where nothing else is said. */
export const API_PORT = 8099;

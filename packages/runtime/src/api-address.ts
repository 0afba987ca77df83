// Where the API listens unless somebody says otherwise: on this machine only.

export const API_HOST = "127.0.0.1";
export const API_PORT = 8099;

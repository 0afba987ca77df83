// The descriptors of an isolated child. stdout and stderr belong to the tool.

/** Commands of the host. */
export const CHILD_IN_FD = 3;
/** Answers of the child; written synchronously, so that nothing is lost when the tool ends its process. */
export const CHILD_OUT_FD = 4;
/** Carries nothing. Its end is the end of the host. */
export const CHILD_WATCH_FD = 5;

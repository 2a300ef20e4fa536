/** Starts and removes the live demo. Only the default run has one. */
export interface ConsoleDemo {
  /** Whether this principal of coordination may control the demo, which acts as the administrator. */
  isFor(principalId: string): boolean;
  /**
   * Resolves once the demo's workspace and tasks exist.
   * @throws Error with a user-readable message
   */
  start(): Promise<void>;
  /** @throws Error with a user-readable message */
  remove(): Promise<void>;
}

/** How the console starts and ends the live demo; only a Baton that runs whole has one. */
export interface ConsoleDemo {
  /** Whether this principal of coordination may start and remove the demo: the demo acts as the administrator. */
  isFor(principalId: string): boolean;
  /**
   * Resolves once the demo's workspace and tasks stand.
   * @throws Error with a sentence for people
   */
  start(): Promise<void>;
  /** @throws Error with a sentence for people */
  remove(): Promise<void>;
}

export type ConnectRefusalCode =
  /** The person lacks the permission `admin`. */
  | 'permission_missing'
  /** The access role is for people, or allows an agent nothing. */
  | 'role_not_for_agents'
  /** The name contains no letter or digit that a key can contain. */
  | 'name_without_key'
  | 'agent_retired'
  | 'agent_exists'
  | 'agent_connected'
  | 'connect_interrupted';

/** A connection that was refused before a token was issued. The message is for people. */
export class ConnectRefusal extends Error {
  override readonly name = 'ConnectRefusal';
  readonly code: ConnectRefusalCode;

  constructor(code: ConnectRefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

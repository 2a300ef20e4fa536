/** Who asks, as the audit record names them. */
export interface Caller {
  readonly actor: string;
}

/** Makes the first passkey of a person possible, by the authority of the operator of this process. */
export interface FirstPasskeys {
  /** Whether the owner of an access token has a passkey. */
  has(principal: Owner): Promise<boolean>;
  /** Creates a recovery link that lasts for minutes. @returns its secret */
  createLink(principal: Owner): Promise<string>;
}

/** A person in identity. */
export interface Owner {
  readonly tenantId: string;
  readonly principalId: string;
}

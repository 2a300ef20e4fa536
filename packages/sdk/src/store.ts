/** Stores one small string between two starts of a program. `@baton/sdk/node` has a file store. */
export interface Store {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

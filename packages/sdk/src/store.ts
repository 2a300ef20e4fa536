/** Stores one short string from one start of a program to the next. `@baton/sdk/node` has a store in a file. */
export interface Store {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

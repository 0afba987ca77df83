// What the processes of the story send each other: one event, with a sentence for people and fields for programs.

export interface StoryEvent {
  readonly event: string;
  readonly says: string;
  readonly tool?: string;
  readonly pid?: number;
  readonly [field: string]: unknown;
}

export type Tell = (event: StoryEvent) => void;

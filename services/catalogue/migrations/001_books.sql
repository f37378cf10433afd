create table books (
    id          text collate "C" primary key,
    title       text not null,
    author      text not null,
    year        integer not null, -- negative is BC
    language    text not null,
    subjects    text[] not null,
    description text not null,
    price_cents bigint not null check (price_cents > 0) -- US cents
);

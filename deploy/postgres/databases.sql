-- A database for each service that keeps something, and a user who may enter that one only. The services make their
-- tables themselves. PostgreSQL's image runs this once, when its volume is empty.
create role catalogue login password 'holdfast';
create role checkout login password 'holdfast';
create role recommendations login password 'holdfast';

create database catalogue owner catalogue;
create database checkout owner checkout;
create database recommendations owner recommendations;

revoke connect on database catalogue, checkout, recommendations, postgres from public;
